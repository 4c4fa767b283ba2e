/**
 * What takes seconds to make: empty databases, the packed package. A run of all tests shares a folder: the first test
 * that needs one keeps a copy there for the others. A test file run on its own makes its own.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';

const templates = () => process.env.OBSERVATORY_TEST_TEMPLATES;

/** An empty PGlite in memory. */
export async function newPGlite(): Promise<PGlite> {
  const folder = templates();
  if (folder === undefined) return PGlite.create();
  const template = join(folder, 'pglite.tar');
  if (existsSync(template)) return PGlite.create({ loadDataDir: new Blob([readFileSync(template)]) });
  const made = await PGlite.create();
  const copy = `${template}.${process.pid}`;
  writeFileSync(copy, Buffer.from(await (await made.dumpDataDir('none')).arrayBuffer()));
  renameSync(copy, template);
  return made;
}

/**
 * Fills a folder that does not exist yet, by `make` or with a copy of what `make` made before.
 * @param name of the template, the same for the same content.
 */
export function makeOnce(name: string, target: string, make: () => void): void {
  const folder = templates();
  const template = folder === undefined ? undefined : join(folder, encodeURIComponent(name));
  if (template !== undefined && existsSync(template)) {
    copyFolder(template, target);
    return;
  }
  make();
  if (template === undefined) return;
  const copy = `${template}.${process.pid}`;
  copyFolder(target, copy);
  try {
    renameSync(copy, template);
  } catch {
    // Another process was faster; its copy is as good.
    rmSync(copy, { recursive: true, force: true });
  }
}

/** With owners and permissions, which Postgres is particular about. */
function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-Rp', from, to]);
}
