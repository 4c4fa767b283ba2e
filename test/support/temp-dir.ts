import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let root: string | undefined;

/** A new empty directory, gone when the process ends. */
export function tempDir(): string {
  root ??= makeRoot();
  return mkdtempSync(join(root, 'dir-'));
}

function makeRoot(): string {
  const made = mkdtempSync(join(tmpdir(), 'observatory-test-'));
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  return made;
}
