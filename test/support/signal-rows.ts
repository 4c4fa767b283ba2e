import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/** An input and the value of every field as the origin implementation of the fields gives it. */
export interface SignalRow {
  readonly input: Readonly<Record<string, string | null>>;
  readonly expected: Readonly<Record<string, string | number | boolean | null>>;
}

export function readSignalRows(file: URL | string): SignalRow[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as SignalRow);
}

/** Compares a row of the command line's output: texts and flags exactly, numbers to 1e-12. */
export function assertRow(actual: Readonly<Record<string, unknown>>, row: SignalRow, index: number): void {
  for (const [name, expected] of Object.entries(row.expected)) {
    // Without a model the tokens are those of the heuristic.
    const value = actual[name.replace(/^heuristic_/, '')];
    const where = `row ${index}, ${name}: ${JSON.stringify(row.input)}`;
    if (typeof expected === 'number') {
      assert.equal(typeof value, 'number', where);
      assert.ok(Math.abs((value as number) - expected) <= 1e-12, `${where}: got ${value}, not ${expected}`);
    } else assert.equal(value, expected, where);
  }
}
