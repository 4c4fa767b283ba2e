import { readFile } from 'node:fs/promises';
import Module, { createRequire } from 'node:module';
import { join } from 'node:path';

interface InstalledPackage {
  readonly folder: string;
  readonly version: string;
}

/** The package that an application in `folder` would load. Its manifest is read from disk, as it may not be exported. */
export async function installedPackage(folder: string, name: string): Promise<InstalledPackage | undefined> {
  for (const found of listPlaces(folder, name)) {
    const text = await readFile(join(found, 'package.json'), 'utf8').catch(() => '{}');
    try {
      const { version } = JSON.parse(text) as { version?: unknown };
      if (typeof version === 'string') return { folder: found, version };
    } catch {
      // A manifest that cannot be read is that of no package.
    }
  }
  return undefined;
}

/** What Yarn's Plug'n'Play adds to Node's own module: pnpjs.org/api. */
interface PlugAndPlay {
  readonly findPnpApi?: (
    path: string,
  ) => { resolveToUnqualified(name: string, issuer: string): string | null } | null;
}

/** Where the package may be. Plug'n'Play has no folder of packages, and says where each is. */
function listPlaces(folder: string, name: string): readonly string[] {
  const issuer = join(folder, 'package.json');
  const pnp = (Module as PlugAndPlay).findPnpApi?.(issuer) ?? null;
  if (pnp === null)
    return (createRequire(issuer).resolve.paths(name) ?? []).map((nodeModules) => join(nodeModules, name));
  try {
    return [pnp.resolveToUnqualified(name, issuer) ?? []].flat();
  } catch {
    // The application does not depend on it.
    return [];
  }
}

/** Whether a version is in a range such as `>=1.2.0 <2`; other range syntax is not supported. */
export function inRange(version: string, range: string): boolean {
  return range.split(' ').every((bound) => {
    const match = /^(>=|<)(.+)$/.exec(bound);
    if (match === null) throw new RangeError(`Expected a bound such as >=1.2.0 or <2, got '${bound}'`);
    const order = compare(version, match[2] ?? '');
    return match[1] === '<' ? order < 0 : order >= 0;
  });
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => (text.split('-')[0] ?? '').split('.').map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
