/**
 * Makes the empty store that `up` copies instead of making a database: `node dist/scripts/make-empty-store.js`, as part of
 * packing. Needs a build.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate, openDatabase } from '../src/postgres/index.ts';
import { packDirectory } from '../src/postgres/prepared-directory.ts';

const FILE = fileURLToPath(new URL('../lib/empty-store.br', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'observatory-store-'));
try {
  const dataDir = join(folder, 'pgdata');
  {
    await using db = await openDatabase({ dataDir, isPrepared: false });
    await migrate(db);
  }
  const packed = await packDirectory(dataDir);
  writeFileSync(FILE, packed);
  process.stdout.write(`${FILE}: ${packed.length} bytes\n`);
} finally {
  rmSync(folder, { recursive: true });
}
