import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { findDocumentProblems } from '../scripts/check-docs.ts';
import { findBreaches } from '../scripts/house-rules.ts';
import { tempDir } from './support/temp-dir.ts';

/** Messages of the rules for a tree of files below `src`. */
function breachesOf(files: Readonly<Record<string, string>>, known?: readonly string[]): string[] {
  const root = tempDir();
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, 'src', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return findBreaches(root, known);
}

test('a tree within the rules has no breach', () => {
  const files = {
    'index.ts': "export { startUp } from './setup/index.ts';\n",
    'base/index.ts': "export { type Name, name } from './name.ts';\n",
    'base/name.ts': "export type Name = string;\nexport const name: Name = 'a';\n",
    'setup/index.ts': "export { startUp } from './start-up.ts';\nexport { hook } from './hooks/index.ts';\n",
    'setup/start-up.ts':
      "import { name } from '../base/index.ts';\nexport function startUp(): string;\nexport function startUp(): string { return name; }\n",
    'setup/hooks/index.ts': "export { hook } from './hook.ts';\n",
    'setup/hooks/hook.ts': "import { startUp } from '../start-up.ts';\nexport const hook = startUp();\n",
    'setup/lazy.ts': 'export const lazy = 1;\n',
    'setup/entry.ts': "import { lazy } from './lazy.ts';\nexport const load = () => import('./lazy.ts');\n",
  };
  assert.deepEqual(breachesOf(files), []);
});

test('an import against the order of rooms is a breach, also of a type, over lines, or dynamic', () => {
  const upward = 'setup/index.ts: setup is above base';
  const files = {
    'base/a.ts': "import type { S } from '../setup/index.ts';\n",
    'base/b.ts': "export {\n  s,\n} from '../setup/index.ts';\n",
    'base/c.ts': "export const c = () => import('../setup/index.ts');\n",
    'setup/index.ts': 'export type S = string;\nexport const s = 1;\n',
  };
  assert.deepEqual(
    breachesOf(files),
    ['a', 'b', 'c'].map((name) => `base/${name}.ts imports ${upward}`),
  );
});

test('a folder that is not in the list of rooms is a breach', () => {
  assert.deepEqual(breachesOf({ 'attic/index.ts': '' }), [
    "attic/index.ts: 'attic' is not in the list of rooms (scripts/house-rules.ts)",
  ]);
});

test('importing an entry of the package from a room is a breach', () => {
  assert.deepEqual(breachesOf({ 'cli/a.ts': "import '../index.ts';\n", 'index.ts': '' }), [
    'cli/a.ts imports index.ts: an entry of the package is above cli',
  ]);
});

test('files of JSX are held to the same rules', () => {
  const files = {
    'base/index.ts': '',
    'base/a/index.ts': '',
    'base/a/b.ts': 'export const b = 1;\n',
    'ui/page.tsx': "import { b } from '../base/a/b.ts';\nexport const b2 = b;\n",
  };
  assert.deepEqual(breachesOf(files), ['ui/page.tsx imports base/a/b.ts: enter base by base/index.ts']);
});

test('a folder entered other than by its index.ts is a breach, also where a nested index.ts is entered', () => {
  const files = {
    'json/a.ts': "import { x } from '../base/x.ts';\nimport { y } from '../base/inner/index.ts';\n",
    'base/b.ts': "import { y } from './inner/y.ts';\n",
    'base/x.ts': 'export const x = 1;\n',
    'base/inner/index.ts': "export { y } from './y.ts';\n",
    'base/inner/y.ts': 'export const y = 1;\n',
  };
  assert.deepEqual(breachesOf(files), [
    'base/b.ts imports base/inner/y.ts: enter base/inner by base/inner/index.ts',
    'json/a.ts imports base/x.ts: enter base by base/index.ts',
    'json/a.ts imports base/inner/index.ts: enter base by base/index.ts',
  ]);
});

test('an attribute of the conventions spelled outside the tables of names is a breach', () => {
  const files = {
    'base/semconv.ts': "export const ATTR_TOOL = 'gen_ai.tool.name';\n",
    'interaction/dialects/old.ts': "const OLD = 'gen_ai.prompt';\n",
    'golden/a.ts': "/** As `gen_ai.tool.name`. */\nspan.setAttribute('gen_ai.tool.name', name);\n",
    'golden/b.ts': "guard('mcp.request', run); const api = 'openai.chat';\n",
    'ui/c.tsx': "const failed = attributes['error.type'];\n",
  };
  assert.deepEqual(breachesOf(files), [
    "golden/a.ts spells 'gen_ai.tool.name': use the constant of base/semconv.ts",
    "ui/c.tsx spells 'error.type': use the constant of base/semconv.ts",
  ]);
});

test('a file that prints past the outputs of its command is a breach', () => {
  const files = {
    'cli/main.ts': 'process.stderr.write(message);\n',
    'cli/a.ts': 'process.stdout.write(answer);\n',
    'golden/b.ts': 'console.log(answer);\n',
  };
  assert.deepEqual(breachesOf(files), [
    'cli/a.ts uses process.stdout: print through the Output of the command, or report through diag',
    'golden/b.ts uses console.log(: print through the Output of the command, or report through diag',
  ]);
});

test('folders that depend on each other in a circle are a breach', () => {
  const files = {
    'base/a/index.ts': "import type { B } from '../b/index.ts';\n",
    'base/b/index.ts': "import type { C } from '../c/index.ts';\n",
    'base/c/index.ts': "import type { A } from '../a/index.ts';\n",
  };
  assert.deepEqual(breachesOf(files), [
    'src/base: folders in a circle: base/a/index.ts imports base/b/index.ts; base/b/index.ts imports base/c/index.ts; base/c/index.ts imports base/a/index.ts',
  ]);
});

test("a folder's own files and a subfolder in a circle are a breach", () => {
  const files = {
    'base/top.ts': "import { low } from './inner/index.ts';\nexport const top = low;\n",
    'base/inner/index.ts': "export { low } from './low.ts';\n",
    'base/inner/low.ts': "import type { Other } from '../other.ts';\nexport const low: Other = 1;\n",
    'base/other.ts': 'export type Other = number;\n',
  };
  assert.deepEqual(breachesOf(files), [
    'src/base: folders in a circle: base/inner/low.ts imports base/other.ts; base/top.ts imports base/inner/index.ts',
  ]);
});

test('an exported name with two definitions, or a second name for one, is a breach', () => {
  const files = {
    'base/a.ts': 'export interface Name {}\n',
    'base/b.ts': 'export abstract class Name {}\n',
    'base/index.ts': "export { type Name as Title } from './a.ts';\n",
  };
  assert.deepEqual(breachesOf(files), [
    "'Name' is defined in base/a.ts, base/b.ts: give each concept its own name",
    "base/index.ts exports 'Name' as 'Title': one concept has one name",
  ]);
});

test('a file over 340 lines is a breach', () => {
  const lines = (count: number) => '\n'.repeat(count);
  assert.deepEqual(breachesOf({ 'base/long.ts': lines(341), 'base/short.ts': lines(340) }), [
    'base/long.ts has 341 lines; split it by idea below 340',
  ]);
});

test('documents have budgets of words, for a paragraph too, and links that lead somewhere', () => {
  const root = tempDir();
  mkdirSync(join(root, 'docs'));
  const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');
  writeFileSync(join(root, 'CHANGELOG.md'), `# Changes\n${`\n${words(100)}\n`.repeat(5)}`);
  writeFileSync(
    join(root, 'docs/a.md'),
    `# One way\n\n- ${words(119)}\n- ${words(120)}\n\n| ${words(100)} | ${words(100)} |\n`,
  );
  writeFileSync(
    join(root, 'docs/b.md'),
    'See [a](a.md#one-way), [b](a.md#another), [c](c.md), [d](https://example.com/#e).\n',
  );
  assert.deepEqual(findDocumentProblems(root), [
    'CHANGELOG.md has 502 words, at most 500',
    `docs/a.md has a paragraph of 121 words: ${`- ${words(120)}`.slice(0, 60)}`,
    'docs/b.md links to a.md#another: there is no such heading',
    'docs/b.md links to c.md: there is no such file',
  ]);
});

test('files of one folder that import each other in a circle are a breach, also through a type', () => {
  const files = {
    'base/a.ts': "import type { B } from './b.ts';\nexport type A = B;\n",
    'base/b.ts': "import type { C } from './c.ts';\nexport type B = C;\n",
    'base/c.ts': "import type { A } from './a.ts';\nimport './b.ts';\nexport type C = A;\n",
    'json/c.ts': "import './a.ts';\nimport '../base/index.ts';\n",
  };
  const circles = [
    'src/base: files in a circle: base/a.ts imports base/b.ts; base/b.ts imports base/c.ts; base/c.ts imports base/a.ts',
    'src/base: files in a circle: base/b.ts imports base/c.ts; base/c.ts imports base/b.ts',
  ];
  assert.deepEqual(
    breachesOf(files).filter((message) => message.includes('circle')),
    circles,
  );
});

test('a regular expression of more than 300 characters is a breach, save in a generated file', () => {
  const words = 'a|'.repeat(150);
  const files = {
    'base/a.ts': `const words = /^(?:${words})$/i;\n`,
    'base/b.ts': `const words = new RegExp(\n  '^(?:${words})$',\n);\n`,
    'base/c.ts': `/** Made by a script: do not edit. */\nconst words = /^(?:${words})$/i;\n`,
    'base/d.ts': `// ${words}\nconst words = '${words}'; const short = /a\\/[/]b/;\n`,
  };
  assert.deepEqual(
    breachesOf(files),
    ['a', 'b'].map(
      (name) =>
        `base/${name}.ts has a regular expression of 306 characters; write its words as a list, or split it below 300`,
    ),
  );
});

test('a file that one other of its folder imports is a breach where both fit in 200 lines', () => {
  const lines = (count: number) => '\n'.repeat(count);
  const files = {
    'base/index.ts': "export { a } from './a.ts';\nexport { large } from './large.ts';\n",
    'base/a.ts': "import { part } from './part.ts';\nexport const a = part;\n",
    'base/part.ts': 'export const part = 1;\n',
    'base/large.ts': `import './one.ts';\nimport './two.ts';\n${lines(98)}`,
    'base/one.ts': lines(50),
    'base/two.ts': lines(50),
  };
  assert.deepEqual(breachesOf(files), ['base/part.ts is imported by base/a.ts alone; make it part of it']);
});

test('a known breach is not reported, and one that was mended has to leave the list', () => {
  const files = {
    'base/a.ts': "import './part.ts';\n",
    'base/part.ts': '',
  };
  assert.deepEqual(breachesOf(files, ['base/part.ts', 'base/gone.ts']), [
    'base/gone.ts breaks no rule any more: take it off KNOWN (scripts/house-rules.ts)',
  ]);
});

test('a function whose name ends in Of says with a verb what it does', () => {
  const files = {
    'base/a.ts':
      'export function usageOf(a: string) {}\nconst costOf = (a: string) => a;\nfunction allOf() {}\n',
  };
  assert.deepEqual(breachesOf(files), [
    "base/a.ts: begin the name of 'usageOf' with a verb",
    "base/a.ts: begin the name of 'costOf' with a verb",
  ]);
});
