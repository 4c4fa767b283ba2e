import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scoreCommand } from '../src/cli/score.ts';
import { parseLines, runCommand } from './support/command.ts';
import { assertRow, readSignalRows } from './support/signal-rows.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const shared = join(process.env.OBSERVATORY_DATA ?? join(root, '../shared/data'), 'parity/observatory.jsonl');

async function check(file: string, atLeast: number): Promise<void> {
  const rows = readSignalRows(file);
  assert.ok(rows.length >= atLeast, `${file} has ${rows.length} rows, not ${atLeast}`);
  const input = rows.map((row) => `${JSON.stringify(row.input)}\n`);
  const { code, stdout } = await runCommand(
    scoreCommand,
    ['--with-normalized', '--verifier', 'heuristic'],
    input,
  );
  const results = parseLines(stdout);
  assert.equal(code, 0);
  assert.equal(results.length, rows.length);
  for (const [index, row] of rows.entries()) assertRow(results[index] ?? {}, row, index);
}

const absent = existsSync(shared) ? false : `${shared} is not there`;

test('every field of the shared rows is what the origin implementation gives', { skip: absent }, async () => {
  await check(shared, 300);
});

// Chosen and random inputs at the edges of the definitions: Unicode digits, spaces, word boundaries and case, overlapping
// patterns, infinite numbers. The values are those of the origin implementation, run under Python 3.11; where a text has
// lone surrogates, which it cannot hash, of its functions with U+FFFD in their place.
test('every field of adversarial rows is what the origin implementation gives', async () => {
  await check(join(root, 'test/fixtures/signals.jsonl'), 400);
});
