/**
 * Writes the files derived from the field dictionary, the migrations and the rules of redaction: `npm run generate`.
 * `--check` writes nothing and exits with 1 if a file would change or the README has no markers for its field table.
 * `--root DIR` works on another folder than this repository.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  FIELD_TABLE_END,
  FIELD_TABLE_START,
  generatedFiles,
  withExamples,
  withFieldTable,
} from './generated-files.ts';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    root: { type: 'string', default: fileURLToPath(new URL('../../', import.meta.url)) },
  },
});

let stale = 0;
for (const { path, content } of generatedFiles()) update(path, content);

const readmePath = join(values.root, 'README.md');
if (!existsSync(readmePath)) {
  say('README.md: not there, so it has no field table');
} else {
  const readExample = (file: string) => readFileSync(join(values.root, 'examples', file), 'utf8');
  const updated = withFieldTable(withExamples(readFileSync(readmePath, 'utf8'), readExample));
  if (updated !== undefined) {
    update('README.md', updated);
  } else {
    stale += 1;
    say(
      `README.md: no field table, because the lines ${FIELD_TABLE_START} and ${FIELD_TABLE_END} are not there`,
    );
  }
}
if (values.check && stale > 0) {
  say('Not up to date. Run: npm run generate');
  process.exitCode = 1;
}

function update(path: string, content: string): void {
  const file = join(values.root, path);
  if (existsSync(file) && readFileSync(file, 'utf8') === content) return;
  stale += 1;
  say(`${path}: ${values.check ? 'would change' : 'written'}`);
  if (values.check) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
