/** Appends batches to the spool in the folder given, and prints the ids of each once it is safe, until it is killed. */
import { writeSync } from 'node:fs';
import { resolveSpoolOptions } from '../../src/durable/options.ts';
import { Spool } from '../../src/durable/spool.ts';
import { idsOf, manySpans } from './many-spans.ts';

const spool = await Spool.open(
  resolveSpoolOptions({ directory: process.argv[2] ?? '', segmentBytes: 20_000 }),
);
for (;;) {
  const batch = manySpans(20);
  await spool.append(batch);
  writeSync(1, `${idsOf(batch).join('\n')}\n`);
}
