import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle, loadOf } from './support/bundle.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PINNED = join(ROOT, 'test/public-names.json');

/** Sources of the entries that export names, by their names in `package.json`. */
const SOURCES: Readonly<Record<string, string>> = {
  '.': 'src/index.ts',
  './instrumentation': 'src/entries/instrumentation.ts',
  './policy': 'src/entries/policy.ts',
  './orchestrator': 'src/entries/orchestrator.ts',
  './golden': 'src/entries/golden.ts',
  './execution': 'src/entries/execution.ts',
  './collector': 'src/entries/collector.ts',
};

interface Name {
  readonly name: string;
  readonly isType: boolean;
  /** The room it is exported from, and its name there. */
  readonly origin: string;
}

/** The names of an entry; its source is nothing but lists of them. */
function namesOf(source: string): Name[] {
  const text = readFileSync(join(ROOT, source), 'utf8');
  const lists = text.matchAll(/export (type )?\{([^}]*)\} from '(?:\.\.?\/)+([^']+)';/g);
  return [...lists].flatMap(([, types, list, room]) =>
    (list as string)
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map((item) => {
        const [original, renamed] = item.replace(/^type /, '').split(' as ');
        const isType = types !== undefined || item.startsWith('type ');
        return { name: renamed ?? (original as string), isType, origin: `${room} ${original}` };
      }),
  );
}

const sorted = (names: readonly Name[]) => names.map(({ name }) => name).sort();

test('each entry exports exactly the names that are pinned', () => {
  const surface = Object.fromEntries(
    Object.entries(SOURCES).map(([entry, source]) => {
      const names = namesOf(source);
      const values = sorted(names.filter(({ isType }) => !isType));
      return [entry, { values, types: sorted(names.filter(({ isType }) => isType)) }];
    }),
  );
  if (process.env.UPDATE_GOLDENS === '1') writeFileSync(PINNED, `${JSON.stringify(surface, null, 2)}\n`);
  assert.deepEqual(surface, JSON.parse(readFileSync(PINNED, 'utf8')));
});

test('package.json has these entries and no other, each with its declarations', () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object };
  const files = (name: string) => ({
    types: `./dist/lib/${name}.d.ts`,
    // With a top-level await it cannot be required.
    ...(name === 'register'
      ? { require: { types: `./dist/lib/${name}.d.cts`, default: `./dist/lib/${name}.cjs` } }
      : {}),
    default: `./dist/lib/${name}.js`,
  });
  const preloaded = ['./register', './record', './replay'];
  const expected = ['.', ...preloaded, ...Object.keys(SOURCES).slice(1)].map((entry) => [
    entry,
    files(entry === '.' ? 'index' : entry.slice(2)),
  ]);
  assert.deepEqual(exports, {
    ...Object.fromEntries(expected),
    './golden': { ...files('golden'), 'node-addons': { require: './dist/lib/golden.cjs' } },
    './next': { ...files('next'), 'edge-light': './dist/lib/next-edge.js' },
    './worker': files('worker'),
    './package.json': './package.json',
  });
});

test('a name means the same in every entry that has it', () => {
  const origins = new Map<string, string>();
  for (const { name, origin } of Object.values(SOURCES).flatMap(namesOf)) {
    assert.equal(origins.get(name) ?? origin, origin, `${name} has two meanings`);
    origins.set(name, origin);
  }
});

test('the bundle exports the values that the sources name, one class for all entries', async () => {
  const seen = new Map<string, unknown>();
  for (const [entry, source] of Object.entries(SOURCES)) {
    const file = join(bundle(), `${entry === '.' ? 'index' : entry.slice(2)}.js`);
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    assert.deepEqual(Object.keys(module).sort(), sorted(namesOf(source).filter(({ isType }) => !isType)));
    for (const [name, value] of Object.entries(module)) {
      assert.equal(seen.get(name) ?? value, value, `${name} is there twice`);
      seen.set(name, value);
    }
  }
});

test('goldens are required where `require` takes no ES module, as that of Jest', () => {
  const file = join(bundle(), 'golden.cjs');
  const refuse = () => assert.fail('Must use import to load ES Module');
  class JestModule extends Module {
    static override createRequire = () => Object.assign(refuse, createRequire(file));
  }
  const jests = (name: string) => (name === 'node:module' ? JestModule : refuse());
  const required = { exports: {} as { toMatchGolden?: unknown } };
  for (const own of [jests, createRequire(file)]) {
    new Function('require', 'module', '__filename', readFileSync(file, 'utf8'))(own, required, file);
    assert.equal(typeof required.exports.toMatchGolden, 'function');
  }
});

/** Rooms that an entry must not load when it is imported. */
const NOT_LOADED: Readonly<Record<string, readonly string[]>> = {
  index: ['policy', 'orchestrator', 'golden', 'mcp-client', 'collector', 'cli'],
  registering: ['policy', 'orchestrator', 'golden', 'mcp-client', 'collector', 'cli'],
  policy: ['instrumentation', 'orchestrator', 'golden', 'collector', 'cli', 'setup', 'postgres', 'durable'],
  orchestrator: ['instrumentation', 'collector', 'cli', 'setup', 'postgres', 'durable'],
  execution: [
    'instrumentation',
    'policy',
    'orchestrator',
    'golden',
    'mcp-client',
    'collector',
    'cli',
    'setup',
  ],
  collector: ['instrumentation', 'policy', 'execution', 'orchestrator', 'golden', 'mcp-client', 'cli'],
  cli: ['instrumentation', 'policy', 'execution', 'orchestrator', 'golden', 'postgres', 'collector', 'setup'],
};

for (const [entry, rooms] of Object.entries(NOT_LOADED)) {
  test(`the entry ${entry} loads nothing of ${rooms.join(', ')}`, () => {
    const { modules } = loadOf(entry);
    assert.notEqual(modules.length, 0);
    assert.deepEqual(
      modules.filter((module) => rooms.includes(module.split('/')[0] as string)),
      [],
    );
  });
}

test('no entry loads what scores answers: the first answer does', () => {
  for (const entry of [
    'index',
    'registering',
    'policy',
    'orchestrator',
    'golden',
    'execution',
    'collector',
    'cli',
  ])
    assert.deepEqual(
      loadOf(entry).modules.filter((module) => /^evidence\/(?:scores|claims|support)/.test(module)),
      [],
    );
});

test('no entry loads more packages than the API, and the instrumentations what they extend', () => {
  const api = '@opentelemetry/api';
  const hooks = [api, '@opentelemetry/instrumentation', 'require-in-the-middle'];
  const packages = Object.fromEntries(
    [
      'index',
      'instrumentation',
      'register',
      'registering',
      'policy',
      'orchestrator',
      'golden',
      'execution',
      'collector',
      'cli',
      'worker',
    ].map((entry) => [entry, loadOf(entry).packages]),
  );
  assert.deepEqual(packages, {
    index: [api],
    instrumentation: hooks,
    // Loads the other where it is not disabled.
    register: [],
    registering: hooks,
    policy: [api],
    orchestrator: [api],
    golden: [api],
    execution: [api],
    collector: [api],
    cli: [],
    // Bundled with what it needs, which nothing could load later.
    worker: [api, '@opentelemetry/sdk-trace'],
  });
});
