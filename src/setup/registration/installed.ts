import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

interface InstalledPackage {
  readonly folder: string;
  readonly version: string;
}

/** The package that an application in `folder` would load. Its manifest is read from disk, as it may not be exported. */
export async function installedPackage(folder: string, name: string): Promise<InstalledPackage | undefined> {
  const require = createRequire(join(folder, 'package.json'));
  for (const nodeModules of require.resolve.paths(name) ?? []) {
    const found = join(nodeModules, name);
    try {
      const manifest = JSON.parse(await readFile(join(found, 'package.json'), 'utf8')) as unknown;
      const version = (manifest as { version?: unknown }).version;
      if (typeof version === 'string') return { folder: found, version };
    } catch {
      if (nodeModules === dirname(nodeModules)) return undefined;
    }
  }
  return undefined;
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
