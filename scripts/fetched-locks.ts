import { readFileSync } from 'node:fs';
import { packageFile } from '../src/base/index.ts';
import { FETCHED_SETS } from '../src/cli/command-line/index.ts';
import type { GeneratedFile } from './generated-files.ts';

/** What npm must know of a package to install it. */
const KEPT = [
  'version',
  'integrity',
  'optional',
  'dependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'bin',
  'engines',
  'os',
  'cpu',
  'libc',
] as const;

interface LockedPackage extends Partial<Record<(typeof KEPT)[number], unknown>> {
  readonly version: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

type LockedPackages = Readonly<Record<string, LockedPackage>>;

/**
 * The lock files of the packages that commands fetch, cut out of the one of this repository. The demo runs a copy of this
 * package, so its own dependencies are among them.
 */
export function fetchedLocks(): readonly GeneratedFile[] {
  const read = (path: string): unknown => JSON.parse(readFileSync(packageFile(path), 'utf8'));
  const { packages } = read('package-lock.json') as { readonly packages: LockedPackages };
  const { dependencies } = read('package.json') as { readonly dependencies: object };
  return Object.entries(FETCHED_SETS).map(([set, names]) => {
    const roots = set === 'demo' ? [...names, ...Object.keys(dependencies)].sort() : names;
    return {
      path: `config/packages/${set}.json`,
      content: `${JSON.stringify(lockOf(roots, packages), null, 1)}\n`,
    };
  });
}

function lockOf(roots: readonly string[], packages: LockedPackages): object {
  const needed = new Set<string>();
  const open = roots.map((name) => `node_modules/${name}`);
  for (const path of open) {
    if (needed.has(path)) continue;
    needed.add(path);
    for (const name of dependenciesOf(lockedAt(path, packages))) {
      const found = resolveFrom(path, name, packages);
      if (found !== undefined) open.push(found);
    }
  }
  const dependencies = Object.fromEntries(
    roots.map((name) => [name, lockedAt(`node_modules/${name}`, packages).version]),
  );
  const entries = [...needed].sort().map((path) => [path, entryOf(path, packages)] as const);
  return {
    lockfileVersion: 3,
    requires: true,
    packages: { '': { dependencies }, ...Object.fromEntries(entries) },
  };
}

function lockedAt(path: string, packages: LockedPackages): LockedPackage {
  const found = packages[path];
  if (found === undefined) throw new Error(`package-lock.json has no ${path}`);
  return found;
}

/** Names of what a package needs; optional ones may be absent from the lock file. */
function dependenciesOf(locked: LockedPackage): readonly string[] {
  const {
    dependencies = {},
    optionalDependencies = {},
    peerDependencies = {},
    peerDependenciesMeta,
  } = locked;
  const peers = Object.keys(peerDependencies).filter(
    (name) => peerDependenciesMeta?.[name]?.optional !== true,
  );
  return [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers];
}

/** The path of a package as Node finds it from another one. */
function resolveFrom(path: string, name: string, packages: LockedPackages): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const found = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[found] !== undefined) return found;
    if (folder === '') return undefined;
  }
}

function entryOf(path: string, packages: LockedPackages): object {
  const locked = lockedAt(path, packages);
  if (!/^sha512-/.test(locked.integrity ?? ''))
    throw new Error(`package-lock.json has no integrity of ${path}`);
  return Object.fromEntries(KEPT.flatMap((key) => (locked[key] === undefined ? [] : [[key, locked[key]]])));
}
