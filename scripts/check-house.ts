/** Checks the rules of the source tree (house-rules.ts); exits with 1 on a breach. `--root DIR` checks another tree. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findBreaches, KNOWN } from './house-rules.ts';

const { values } = parseArgs({
  options: { root: { type: 'string', default: fileURLToPath(new URL('../../', import.meta.url)) } },
});

for (const message of findBreaches(values.root, KNOWN)) {
  process.stdout.write(`${message}\n`);
  process.exitCode = 1;
}
