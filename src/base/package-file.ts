import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ObservatoryError } from './errors.ts';

const NAME = 'mcp-observatory';

/** The folder of this package; modules stand at different depths in a build of files and in a bundle. */
let root: URL | undefined;

/**
 * The address of a file that ships with this package, such as `schema/golden.schema.json`. An application that has bundled
 * the package reads those of an installed one.
 *
 * @param path From the root of the package.
 * @throws ObservatoryError `MISSING_PEER` where the package is bundled and not installed.
 */
export function packageFile(path: string): URL {
  // A bundle of CommonJS has no address.
  const own = import.meta.url ?? pathToFileURL(join(process.cwd(), 'bundle'));
  root ??= findRoot(new URL('./', own)) ?? findInstalled(own);
  if (root !== undefined) return new URL(path, root);
  throw new ObservatoryError(
    'MISSING_PEER',
    `The bundle has no '${path}' of ${NAME}. Leave ${NAME} out of the bundle (esbuild: --external:${NAME}) and install it`,
  );
}

function findRoot(folder: URL): URL | undefined {
  const manifest = new URL('package.json', folder);
  if (existsSync(manifest) && readName(manifest) === NAME) return folder;
  const parent = new URL('../', folder);
  return parent.href === folder.href ? undefined : findRoot(parent);
}

function readName(manifest: URL): unknown {
  try {
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name?: unknown }).name;
  } catch {
    return undefined;
  }
}

function findInstalled(from: URL | string): URL | undefined {
  const places = createRequire(from).resolve.paths(NAME) ?? [];
  const folders = [...places, join(process.cwd(), 'node_modules')].map((place) => join(place, NAME));
  const folder = folders.find((each) => existsSync(join(each, 'package.json')));
  return folder === undefined ? undefined : pathToFileURL(`${folder}/`);
}

/** The version that the `package.json` of a folder names. */
export function readVersion(folder: string | undefined): string | undefined {
  if (folder === undefined) return undefined;
  try {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      version?: unknown;
    };
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}
