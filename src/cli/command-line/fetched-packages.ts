/** Optional packages that a command needs and that are not installed, as after a bare `npx mcp-observatory`. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import {
  errorMessage,
  locate,
  makePrivateFolder,
  ObservatoryError,
  packageFile,
  userCacheFolder,
} from '../../base/index.ts';
import type { CommandIo } from './command.ts';

const FETCH_TIMEOUT_MS = 300_000;

/**
 * Address of the module of an optional package: the installed one, else one fetched into the user's cache.
 * @param path of the module below the package. @defaultValue that of the package itself
 * @returns undefined if it is installed beside this package.
 * @throws ObservatoryError `MISSING_PEER` when it cannot be fetched.
 */
export async function fetchedModule(name: string, io: CommandIo, path = ''): Promise<string | undefined> {
  if (isInstalled(name)) return undefined;
  const module = `${name}${path}`;
  const file =
    locate(module) ??
    locate(module, join(await fetchedFolder(name.replace(/^.*\//, ''), [name], io), 'package.json'));
  if (file !== undefined) return pathToFileURL(file).href;
  throw new ObservatoryError('MISSING_PEER', `${name} cannot be loaded from the cache: npm install ${name}`);
}

/** Whether a package can be imported by this one. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    // A package may be there and not open this file.
    return (error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND';
  }
}

/**
 * A private folder in the user's cache with these packages, in the versions this package is tested with. It is filled by
 * npm the first time; no script of theirs runs while they are installed, and nothing is added to the project.
 *
 * @param name of the folder; the versions become part of it.
 * @throws ObservatoryError `MISSING_PEER` when npm cannot fetch them.
 */
export async function fetchedFolder(
  name: string,
  packages: readonly string[],
  { env, stderr }: CommandIo,
): Promise<string> {
  const specs = withVersions(packages);
  const versions = specs.map((spec) => /@[~^]?([\d.]+)$/.exec(spec)?.[1] ?? '').filter((text) => text !== '');
  const folder = [name, ...(packages.length === 1 ? versions : [])].join('-');
  const cache = join(userCacheFolder(env), folder);
  if (existsSync(cache)) return cache;
  stderr.writeLine(`Fetching ${specs.map(shortName).join(', ')} into ${cache}; this is done once.`);
  // Renamed when it is complete, so that an interrupted installation is never used.
  const partial = `${cache}.${process.pid}`;
  try {
    await makePrivateFolder(dirname(cache));
    await makePrivateFolder(partial);
    const npm = npmOf(env);
    const flags = ['--ignore-scripts', '--install-links', '--no-audit', '--no-fund', '--no-save'];
    await promisify(execFile)(npm.file, [...npm.args, 'install', '--prefix', partial, ...flags, ...specs], {
      cwd: partial,
      timeout: FETCH_TIMEOUT_MS,
      shell: npm.isShellScript,
    });
    await rename(partial, cache);
  } catch (cause) {
    await rm(partial, { recursive: true, force: true });
    // Another process may have been faster.
    if (existsSync(cache)) return cache;
    const wanted = packages.filter((one) => !one.startsWith('/')).join(' ');
    throw new ObservatoryError(
      'MISSING_PEER',
      `npm could not fetch the packages that are needed (${errorMessage(cause).slice(0, 500)}). Install them: npm install ${wanted}`,
      { cause },
    );
  }
  return cache;
}

/** A package that is given by its folder is this one. */
function shortName(spec: string): string {
  return existsSync(spec) ? 'mcp-observatory' : spec;
}

/** The npm that started this process, else that of the path. */
function npmOf({ npm_execpath: path }: CommandIo['env']) {
  const isWindows = process.platform === 'win32';
  return path !== undefined && /npm-cli\.c?js$/.test(path)
    ? { file: process.execPath, args: [path], isShellScript: false }
    : { file: isWindows ? 'npm.cmd' : 'npm', args: [], isShellScript: isWindows };
}

/** The versions that this package is tested with. */
function withVersions(packages: readonly string[]): readonly string[] {
  const { devDependencies } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
    readonly devDependencies?: Readonly<Record<string, string>>;
  };
  return packages.map((name) => (existsSync(name) ? name : `${name}@${devDependencies?.[name] ?? 'latest'}`));
}
