import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installedPackage } from './installed.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const CONFIGURATIONS = ['next.config.js', 'next.config.mjs', 'next.config.ts', 'next.config.mts'];

/**
 * Whether an application of Next.js leaves a package out of its bundles: by its last build, else by its configuration.
 * @returns undefined where the folder has none: a workspace has the Next.js of another application in a folder above.
 */
export async function externalInNext(folder: string): Promise<((name: string) => boolean) | undefined> {
  const next = await installedPackage(folder, 'next');
  if (next === undefined) return undefined;
  // What Next.js keeps out by itself.
  const own = await toText(join(next.folder, 'dist/lib/server-external-packages.jsonc'));
  const built = builtExternals(await toText(join(folder, '.next/required-server-files.json')));
  const config = (await Promise.all(CONFIGURATIONS.map((name) => toText(join(folder, name))))).join('\n');
  const manifest = await toText(join(folder, 'package.json'));
  if (built === undefined && config.trim() === '' && !/"next"\s*:/.test(manifest)) return undefined;
  const isWrapped = config.includes('mcp-observatory/next');
  return (name) => own.includes(`"${name}"`) || (built === undefined ? isWrapped : built.has(name));
}

function builtExternals(text: string): ReadonlySet<unknown> | undefined {
  try {
    const { config } = JSON.parse(text) as { config?: { serverExternalPackages?: unknown } };
    const names = config?.serverExternalPackages;
    return new Set(Array.isArray(names) ? names : []);
  } catch {
    return undefined;
  }
}

async function toText(file: string): Promise<string> {
  try {
    const text = await readFile(file, 'utf8');
    return text.length > MAX_BYTES ? '' : text;
  } catch {
    return '';
  }
}
