/** The packages that a traced program needs beside its own, and who adds them. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { API_OF_SDK_2, errorMessage, INSTALL_SDK, VERSION } from '../../base/index.ts';
import { readObject } from '../../json/index.ts';
import { installedPackage } from '../../setup/index.ts';
import type { CommandIo } from '../command-line/index.ts';
import { isFile } from './launch.ts';

/** Commands that add packages, by the lock files of package managers. */
const MANAGERS: Readonly<Record<string, string>> = {
  'package-lock.json': 'npm install',
  'npm-shrinkwrap.json': 'npm install',
  'pnpm-lock.yaml': 'pnpm add',
  'yarn.lock': 'yarn add',
  'bun.lock': 'bun add',
  'bun.lockb': 'bun add',
};
const INSTALL_MS = 300_000;

export const LOCK_FILES: readonly string[] = Object.keys(MANAGERS);

export interface MissingPackages {
  readonly specs: readonly string[];
  readonly command: readonly string[];
  /** Whether the command writes in this folder only: the lock file of a workspace is above it. */
  readonly isWithin: boolean;
}

/** @returns undefined where all are there. */
export async function findMissing(folder: string): Promise<MissingPackages | undefined> {
  const [, , ...sdk] = INSTALL_SDK.split(' ');
  const all = [`mcp-observatory@^${VERSION}`, API_OF_SDK_2, ...sdk];
  const found = await Promise.all(
    all.map((spec) => installedPackage(folder, spec.slice(0, spec.lastIndexOf('@')))),
  );
  // SDK 3 has one package for all programs.
  const sdk3 = await installedPackage(folder, '@opentelemetry/sdk-trace');
  const hasSdk3 = sdk3 !== undefined && !/^[012]\./.test(sdk3.version);
  const specs = all.filter(
    (spec, at) => found[at] === undefined && !(hasSdk3 && spec.startsWith('@opentelemetry/sdk-trace-node')),
  );
  if (specs.length === 0) return undefined;
  const lock = findLock(folder);
  const command = (MANAGERS[lock?.name ?? ''] ?? 'npm install').split(' ');
  return { specs, command: [...command, ...specs], isWithin: lock === undefined || lock.folder === folder };
}

function findLock(folder: string): { readonly name: string; readonly folder: string } | undefined {
  const name = LOCK_FILES.find((each) => isFile(join(folder, each)));
  if (name !== undefined) return { name, folder };
  // npm writes its first lock file there, of a workspace in any folder below.
  if (isWorkspaceRoot(folder))
    return {
      name: isFile(join(folder, 'pnpm-workspace.yaml')) ? 'pnpm-lock.yaml' : 'package-lock.json',
      folder,
    };
  return dirname(folder) === folder ? undefined : findLock(dirname(folder));
}

export function isWorkspaceRoot(folder: string): boolean {
  if (isFile(join(folder, 'pnpm-workspace.yaml'))) return true;
  const path = join(folder, 'package.json');
  try {
    return isFile(path) && readObject(JSON.parse(readFileSync(path, 'utf8'))).workspaces !== undefined;
  } catch {
    return false;
  }
}

/** @returns what went wrong. */
export async function installPackages(
  { command: [file = 'npm', ...args] }: MissingPackages,
  folder: string,
  { env }: CommandIo,
): Promise<string | undefined> {
  const isWindows = process.platform === 'win32';
  // For the shell of Windows a caret needs quotes.
  const words = isWindows ? args.map((word) => `"${word}"`) : args;
  try {
    const options = { cwd: folder, env: { ...env }, timeout: INSTALL_MS, shell: isWindows };
    await promisify(execFile)(file, words, options);
    return undefined;
  } catch (error) {
    // Yarn and pnpm say why on stdout.
    const { stdout = '' } = error as { readonly stdout?: string };
    return `They could not be installed: ${errorMessage(error).slice(0, 1000)}${stdout.slice(-1000)}`;
  }
}
