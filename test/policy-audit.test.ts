import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cleanPreview } from '../src/approvals/index.ts';
import { ObservatoryError } from '../src/base/errors.ts';
import { gateCommand } from '../src/cli/gate.ts';
import { AuditLog, PinStore, verifyAudit } from '../src/policy/index.ts';
import { toolHash } from '../src/policy/tool-definition.ts';
import { assertFree } from './support/loop-hold.ts';
import { tempFile } from './support/policy-fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { sized } from './support/size.ts';
import { tempDir } from './support/temp-dir.ts';

/** A trail of three runs. */
function writeTrail(key?: string): string {
  const dir = tempDir();
  using audit = new AuditLog({ dir, key });
  for (let i = 0; i < 3; i += 1) {
    const run = audit.startRun({ number: i });
    for (let n = 0; n < 4; n += 1)
      run.record('call_decided', { n, text: `lone \ud800 surrogate ${n}`, nothing: undefined });
    run.finish();
  }
  return dir;
}

const runFiles = (dir: string) => readdirSync(dir).filter((name) => name.startsWith('run-'));

function edit(dir: string, file: string, change: (lines: string[]) => string[]): void {
  const path = join(dir, file);
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  writeFileSync(
    path,
    change(lines)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

test('an untouched trail verifies, with a key and without', async () => {
  for (const key of [undefined, 'secret']) {
    const report = await verifyAudit(writeTrail(key), key);
    const { head, ...counts } = report;
    assert.deepEqual(counts, { runs: 3, records: 18, unfinished: [], problems: [] });
    assert.deepEqual(
      [head.writers, head.files.map(({ records }) => records)],
      [1, [7]],
      'a chain: its writer, and two records a run',
    );
  }
  assert.notDeepEqual((await verifyAudit(writeTrail('secret'), 'other')).problems, []);
});

test('every single change to a trail is found', async () => {
  const changes: Record<string, (dir: string) => void> = {
    'a changed value': (dir) =>
      edit(dir, runFiles(dir)[0] ?? '', (lines) => lines.map((line) => line.replace('"n":2', '"n":3'))),
    'a removed record': (dir) =>
      edit(dir, runFiles(dir)[1] ?? '', (lines) => lines.filter((_, i) => i !== 3)),
    'a removed last record': (dir) => edit(dir, runFiles(dir)[1] ?? '', (lines) => lines.slice(0, -1)),
    'a removed first record': (dir) => edit(dir, runFiles(dir)[1] ?? '', (lines) => lines.slice(1)),
    'two records exchanged': (dir) =>
      edit(dir, runFiles(dir)[2] ?? '', ([a, b, c, ...rest]) => [a, c, b, ...rest] as string[]),
    'a doubled record': (dir) =>
      edit(dir, runFiles(dir)[2] ?? '', ([a, b, ...rest]) => [a, b, b, ...rest] as string[]),
    'an added key': (dir) =>
      edit(dir, runFiles(dir)[0] ?? '', (lines) =>
        lines.map((line, i) => (i === 1 ? line.replace('{', '{"more":1,') : line)),
      ),
    'a duplicate key': (dir) =>
      edit(dir, runFiles(dir)[0] ?? '', (lines) =>
        lines.map((line, i) => (i === 1 ? line.replace('{', '{"n":9,') : line)),
      ),
    'a removed run': (dir) => rmSync(join(dir, runFiles(dir)[0] ?? '')),
    'an emptied run': (dir) => writeFileSync(join(dir, runFiles(dir)[0] ?? ''), ''),
    'an added run': (dir) => writeFileSync(join(dir, 'run-20260101000000000-abc.jsonl'), ''),
    'a run under another name': (dir) => {
      const [first = '', second = ''] = runFiles(dir);
      const [a, b] = [readFileSync(join(dir, first)), readFileSync(join(dir, second))];
      writeFileSync(join(dir, first), b);
      writeFileSync(join(dir, second), a);
    },
    'a shortened list of runs': (dir) =>
      edit(dir, readdirSync(dir).find((name) => name.startsWith('chain-')) ?? '', (lines) =>
        lines.slice(0, -1),
      ),
    'a removed list of runs': (dir) => {
      writeTrailInto(dir);
      rmSync(join(dir, readdirSync(dir).find((name) => name.startsWith('chain-')) ?? ''));
    },
    'a removed head': (dir) =>
      rmSync(join(dir, readdirSync(dir).find((name) => name.startsWith('head-')) ?? '')),
  };
  for (const [what, change] of Object.entries(changes)) {
    const dir = writeTrail();
    change(dir);
    assert.notDeepEqual((await verifyAudit(dir)).problems, [], what);
    const { code } = await runCommand(gateCommand, ['verify', dir]);
    assert.equal(code, 1, what);
  }
});

function writeTrailInto(dir: string): void {
  using audit = new AuditLog({ dir });
  audit.startRun().finish();
}

test('every byte of a record counts', async () => {
  const dir = writeTrail('key');
  const file = runFiles(dir)[0] ?? '';
  const original = readFileSync(join(dir, file));
  for (let at = 0; at < original.length; at += sized(29, 7)) {
    const bytes = Buffer.from(original);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(join(dir, file), bytes);
    assert.notDeepEqual((await verifyAudit(dir, 'key')).problems, [], `byte ${at}`);
  }
});

test('gate verify says what it found and reads SAFE_TRACE_DIR and SAFE_AUDIT_KEY', async () => {
  const dir = writeTrail('secret');
  const good = await runCommand(gateCommand, ['verify', '--json'], [], {
    SAFE_TRACE_DIR: dir,
    SAFE_AUDIT_KEY: 'secret',
  });
  assert.deepEqual([good.code, good.rows[0]?.runs, good.rows[0]?.problems], [0, 3, []]);
  const bad = await runCommand(gateCommand, ['verify', dir], [], {});
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /chain-[0-9a-f]{16}\.jsonl:1: the record was changed/);
  await assert.rejects(runCommand(gateCommand, ['verify', tempDir()]), ObservatoryError);
  await assert.rejects(runCommand(gateCommand, ['verify']), { code: 'INVALID_OPTION' });
});

test('a run that never ended is distinguished from a damaged one', async () => {
  const dir = tempDir();
  using audit = new AuditLog({ dir });
  const run = audit.startRun();
  run.record('call_started', {});
  const report = await verifyAudit(dir);
  assert.deepEqual([report.unfinished.length, report.problems], [1, []]);
  run.finish();
});

test('a directory that cannot be written is a typed error', {
  skip: process.getuid?.() === 0 && 'root writes everywhere',
}, () => {
  const dir = tempDir();
  chmodSync(dir, 0o500);
  assert.throws(() => new AuditLog({ dir: join(dir, 'x') }), { code: 'AUDIT_UNAVAILABLE' });
});

test('a file where the directory should be is a typed error', () => {
  assert.throws(() => new AuditLog({ dir: tempFile('file', 'x') }), { code: 'AUDIT_UNAVAILABLE' });
});

test('what an approver sees holds no characters that hide or reorder text', () => {
  assert.equal(
    cleanPreview('pay \u202eevil\u202c \u200bnow\u0007'),
    'pay \\u202eevil\\u202c \\u200bnow\\u0007',
  );
  assert.match(cleanPreview('x'.repeat(3_000)), /1000 more characters/);
});

/** Values that cannot be walked, or not to their end. */
function oddities(): readonly unknown[] {
  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic.self = cyclic;
  const list: unknown[] = [cyclic];
  list.push(list);
  let deep: unknown = 'bottom';
  for (let i = 0; i < 20_000; i += 1) deep = i % 2 ? { deep } : [deep];
  let shared: unknown = {};
  for (let i = 0; i < 40; i += 1) shared = { a: shared, b: shared };
  const thrower = () => {
    throw new Error('no');
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  return [
    ...[
      cyclic,
      list,
      deep,
      shared,
      10n ** 30n,
      2 ** 60,
      1e300,
      Number.NaN,
      -0,
      () => 1,
      Symbol('s'),
      undefined,
      null,
    ],
    ...[new Date(Number.NaN), new Map([[1, 2]]), new Proxy({}, { ownKeys: thrower }), revoked.proxy],
    ...[new Proxy([], { get: thrower }), { toJSON: thrower }, { toJSON: () => cyclic }, Object.create(null)],
    Object.defineProperty({}, 'x', { enumerable: true, get: thrower }),
    JSON.parse('{"__proto__": {"a": 1}, "constructor": "c"}'),
    { length: 2 ** 31, [Symbol.iterator]: thrower },
    'x'.repeat(1_000_000),
    { 'lone \ud800': 'lone \udc00' },
    Array.from({ length: 50_000 }, (_, i) => i),
    new Array(2 ** 30),
  ];
}

test('a record is written whatever its fields are, and never throws', async () => {
  const dir = tempDir();
  using audit = new AuditLog({ dir, key: 'k' });
  const run = audit.startRun();
  const odd = oddities();
  for (const value of odd) {
    run.settle('call_finished', { value });
    run.record('call_decided', { nested: [{ value }] });
  }
  run.settle('call_finished', new Proxy({}, { ownKeys: () => ['a', 'a'] }));
  assert.equal(run.problem, undefined);
  run.finish();
  const report = await verifyAudit(dir, 'k');
  assert.deepEqual(report.problems, []);
  assert.equal(report.records, 2 * odd.length + 3);
  const [file = ''] = runFiles(dir);
  const longest = Math.max(
    ...readFileSync(join(dir, file), 'utf8')
      .split('\n')
      .map(({ length }) => length),
  );
  assert.ok(longest < 600_000, `${longest} characters`);
});

test('a record, or arguments kept with it, of any size lose their secrets without holding the event loop', async () => {
  const dir = tempDir();
  using audit = new AuditLog({ dir, captureContent: true });
  const run = audit.startRun();
  const text = 'password: hunter22\n'.repeat(100_000);
  await assertFree('a record of much text', async () => run.record('call_decided', { text }));
  await assertFree('arguments of much text', async () => {
    assert.deepEqual(
      run.keepNow(() => ({ data: { text } })),
      { content_omitted: true },
    );
  });
  run.finish();
  const written = readFileSync(join(dir, runFiles(dir)[0] ?? ''), 'utf8');
  assert.match(written, /\[cut\]/);
  assert.doesNotMatch(written, /hunter22/);
});

/** Tokens of known forms, put together here so that scanners stay calm. */
const TOKENS = [
  ['ghp', '_R8vKq2LmXw7TbZ4nYc1PdFh6JsGa9UeVo3Ki'],
  ['sk-', 'proj-R8vKq2LmXw7TbZ4nYc1PdFh6JsGa9UeVo3Ki5Mr'],
  ['hvs', '.R8vKq2LmXw7TbZ4nYc1PdFh6JsGa9UeVo3Ki'],
  ['eyJhbGciOiJIUzI1NiJ9', '.eyJzdWIiOiIxMjM0NTY3ODkwIn0.R8vKq2LmXw7TbZ4nYc1PdFh6'],
].map((parts) => parts.join(''));

/** The token in each place that a definition, a policy, arguments, results and notes have for a text. */
function contentWith(token: string): {
  readonly data: object;
  readonly grounds: object;
  readonly tool: object;
} {
  const text = `use ${token} for it`;
  const tool = {
    name: 'get',
    title: text,
    description: text,
    inputSchema: {
      type: 'object',
      properties: {
        q: { type: 'string', description: text, default: token, enum: [token], examples: [text] },
      },
    },
    annotations: { title: text },
    _meta: { note: text, [token]: 1 },
  };
  const policy = { version: 1, rules: [{ id: 'a', description: text, args: { q: { const: token } } }] };
  const data = {
    args: { q: token, deep: [{ [text]: text }] },
    user_request: text,
    result: { content: [{ text }] },
  };
  return { data, grounds: { policy, 's/get': { s: { tools: [tool] } } }, tool };
}

test('no file of a trail or of pins holds a secret of a known form, wherever it stood', async () => {
  for (const options of [
    { captureContent: true },
    { captureContent: false },
    { captureContent: true, key: 'k' },
  ]) {
    const dir = tempDir();
    using audit = new AuditLog({ dir, ...options });
    const pins = new PinStore();
    for (const token of TOKENS) {
      const { data, grounds, tool } = contentWith(token);
      const content = () => ({ data, grounds }) as never;
      const run = audit.startRun({ note: token, ...data });
      run.record('call_decided', { message: token, [token]: token, data, grounds }, run.keepNow(content));
      run.record('call_started', {}, run.keepNow(content));
      run.settle('call_finished', { error: `failed: ${token}` }, await run.keep(content));
      run.finish({ reason: token });
      pins.approve('s', `get-${TOKENS.indexOf(token)}`, toolHash(tool as never), tool as never);
    }
    pins.save(join(dir, 'pins.json'));
    const texts = readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json') || name.endsWith('.jsonl'))
      .map((name) => readFileSync(join(dir, name), 'utf8'));
    assert.ok(texts.length >= TOKENS.length);
    for (const text of texts)
      for (const token of TOKENS) assert.ok(!text.includes(token.slice(-20)), text.slice(0, 2_000));
    if (options.captureContent && options.key === undefined)
      assert.equal(texts.join('').match(/"content_redacted":true/g)?.length, 3 * TOKENS.length);
  }
});

test('grounds that are too long to lose their secrets at once are not kept, and the record says so', async () => {
  const dir = tempDir();
  using audit = new AuditLog({ dir, captureContent: true });
  const run = audit.startRun();
  const grounds = { policy: { rules: Array.from({ length: 9_000 }, (_, id) => `rule ${id} of many`) } };
  await assertFree('a long policy', async () => {
    assert.deepEqual(
      run.keepNow(() => ({ data: { a: 1 }, grounds })),
      { content_omitted: true },
    );
  });
  run.finish();
});
