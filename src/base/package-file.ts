import { existsSync } from 'node:fs';

/** The folder of this package; modules stand at different depths in a build of files and in a bundle. */
let root: URL | undefined;

/**
 * The address of a file that ships with this package, such as `schema/golden.schema.json`.
 *
 * @param path From the root of the package.
 */
export function packageFile(path: string): URL {
  root ??= findRoot(new URL('./', import.meta.url));
  return new URL(path, root);
}

function findRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error('The package.json of mcp-observatory is missing');
  return findRoot(parent);
}
