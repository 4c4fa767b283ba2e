/**
 * Writes the files derived from the field dictionary, the migrations and the rules of redaction: `npm run generate`.
 * `--check` writes nothing and exits with 1 if a file would change. `--root DIR` works on another folder than this
 * repository.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generatedFiles, withExamples } from './generated-files.ts';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    root: { type: 'string', default: fileURLToPath(new URL('../../', import.meta.url)) },
  },
});

let stale = 0;
for (const { path, content } of generatedFiles()) update(path, content);

const readmePath = join(values.root, 'README.md');
if (existsSync(readmePath)) {
  const readExample = (file: string) => readFileSync(join(values.root, 'examples', file), 'utf8');
  update('README.md', withExamples(readFileSync(readmePath, 'utf8'), readExample));
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
