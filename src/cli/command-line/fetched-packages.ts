/** Optional packages that a command needs and that are not installed, as after a bare `npx mcp-observatory`. */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import {
  errorMessage,
  locate,
  makePrivateFolder,
  ObservatoryError,
  packageFile,
  userCacheFolder,
  whyForeign,
} from '../../base/index.ts';
import type { CommandIo } from './command.ts';

const FETCH_TIMEOUT_MS = 300_000;
const PROGRAM = 'dist/lib/cli.js';

/**
 * What is fetched together. `config/packages/SET.json` is the lock file of each: all packages it needs, with version and
 * integrity, as `npm run generate` takes them from the lock file of this repository.
 */
export const FETCHED_SETS = {
  pglite: ['@electric-sql/pglite'],
  pg: ['pg'],
  'mcp-server': ['@modelcontextprotocol/server'],
  demo: [
    '@modelcontextprotocol/sdk',
    '@modelcontextprotocol/server-filesystem',
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/sdk-trace-node',
    'openai',
    'zod',
  ],
} as const;

export type FetchedSet = keyof typeof FETCHED_SETS;

/** Lock file of a set, of npm's version 3. */
interface PackageLock {
  readonly packages: { readonly '': { readonly dependencies: Readonly<Record<string, string>> } };
}

/**
 * Address of the module of an optional package: the installed one, else one fetched into the user's cache.
 * @param path of the module below the package. @defaultValue that of the package itself
 * @returns undefined if it is installed beside this package.
 * @throws ObservatoryError `MISSING_PEER` when it cannot be fetched.
 */
export async function fetchedModule(name: string, io: CommandIo, path = ''): Promise<string | undefined> {
  if (isInstalled(name)) return undefined;
  const module = `${name}${path}`;
  const file = locate(module) ?? locate(module, join(await fetchedFolder(toSet(name), io), 'package.json'));
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
 * A folder in the user's cache with the packages of a set, exactly those of its lock file. `npm ci` fills it the first
 * time and checks their integrity; no script of theirs runs, and nothing is added to the project. What is there is used
 * only if nobody but this user and root can have put it there.
 *
 * @param withSelf whether this package stands beside them.
 * @throws ObservatoryError `MISSING_PEER` when npm cannot fetch them, or the cache is open to others.
 */
export async function fetchedFolder(
  set: FetchedSet,
  { env, stderr }: CommandIo,
  withSelf = false,
): Promise<string> {
  const lock = readFileSync(packageFile(`config/packages/${set}.json`), 'utf8');
  const { dependencies } = (JSON.parse(lock) as PackageLock).packages[''];
  const cache = await openCache(env);
  // Names of chunks have hashes of what is in them, so the program tells builds of one version apart.
  const build = withSelf ? readFileSync(packageFile(PROGRAM)) : '';
  const folder = join(
    cache,
    `${set}-${createHash('sha256').update(lock).update(build).digest('hex').slice(0, 16)}`,
  );
  if (existsSync(folder)) return await refuseForeign(folder);
  const partial = `${folder}.${randomUUID()}`;
  const names = FETCHED_SETS[set];
  try {
    const specs = names.map((name) => `${name}@${dependencies[name]}`);
    stderr.writeLine(`Fetching ${specs.join(', ')} into ${folder}; this is done once.`);
    await mkdir(partial, { mode: 0o700 });
    await writeFile(join(partial, 'package-lock.json'), lock);
    await writeFile(join(partial, 'package.json'), JSON.stringify({ private: true, dependencies }));
    const npm = toNpm(env);
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--global=false'];
    await promisify(execFile)(npm.file, [...npm.args, 'ci', '--prefix', partial, ...flags], {
      cwd: partial,
      env: environmentOfNpm(env),
      timeout: FETCH_TIMEOUT_MS,
      shell: npm.isShellScript,
    });
    if (withSelf) await copySelf(join(partial, 'node_modules/mcp-observatory'));
    // Renamed when it is complete, so that an interrupted installation is never used.
    await rename(partial, folder);
    return folder;
  } catch (cause) {
    await rm(partial, { recursive: true, force: true }).catch(() => {});
    // Another process may have been faster.
    if (existsSync(folder)) return await refuseForeign(folder);
    throw new ObservatoryError(
      'MISSING_PEER',
      `npm could not fetch the packages that are needed (${errorMessage(cause).slice(0, 500)}). Install them: npm install ${names.join(' ')}`,
      { cause },
    );
  }
}

function toSet(name: string): FetchedSet {
  const sets = Object.keys(FETCHED_SETS) as FetchedSet[];
  const set = sets.find((one) => FETCHED_SETS[one].some((member: string) => member === name));
  if (set !== undefined) return set;
  throw new ObservatoryError('MISSING_PEER', `${name} is needed and not installed: npm install ${name}`);
}

/** @returns the folder of all sets, without links above it: npm does not find a lock file behind one. */
async function openCache(env: CommandIo['env']): Promise<string> {
  const cache = userCacheFolder(env);
  try {
    await makePrivateFolder(cache);
    return await realpath(await refuseForeign(cache));
  } catch (cause) {
    if (ObservatoryError.isInstance(cause)) throw cause;
    throw new ObservatoryError(
      'MISSING_PEER',
      `The folder ${cache}, for packages that are not installed, cannot be used (${errorMessage(cause)}). Set ` +
        'XDG_CACHE_HOME to a folder of your own, or install the packages beside mcp-observatory',
      { cause },
    );
  }
}

/** @returns the folder, if what is in it may be run. */
async function refuseForeign(folder: string): Promise<string> {
  const reason = await whyForeign(folder);
  if (reason === undefined) return folder;
  throw new ObservatoryError(
    'MISSING_PEER',
    `Packages in the cache ${folder} are not used, since they would be run: ${reason}. Set XDG_CACHE_HOME to a folder ` +
      'of your own, or install the packages beside mcp-observatory',
  );
}

async function copySelf(target: string): Promise<void> {
  const { files } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
    readonly files: readonly string[];
  };
  const parts = new Set(['package.json', ...files.map((file) => file.split('/', 1).join())]);
  for (const part of parts) {
    const from = fileURLToPath(packageFile(part));
    if (existsSync(from)) await cp(from, join(target, part), { recursive: true });
  }
}

/** What npm needs, and its settings: tokens of the page and addresses of databases are none of its business. */
function environmentOfNpm(env: CommandIo['env']): NodeJS.ProcessEnv {
  // Windows has names in any case.
  const isOurs = (name: string) => /^(?:(?:MCP_OBSERVATORY|SAFE)_.*|DATABASE_URL)$/iu.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOurs(name)));
}

/** The npm that started this process, else that of the path. */
function toNpm({ npm_execpath: path }: CommandIo['env']) {
  const isWindows = process.platform === 'win32';
  return path !== undefined && /npm-cli\.c?js$/.test(path)
    ? { file: process.execPath, args: [path], isShellScript: false }
    : { file: isWindows ? 'npm.cmd' : 'npm', args: [], isShellScript: isWindows };
}
