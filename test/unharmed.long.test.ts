/** What a program is spared that is run with `--import mcp-observatory/register`: it prints and ends as without it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { ensureContextManager, importPeer } from '../src/base/index.ts';
import { createExitDeadline, flushOnExit } from '../src/setup/exit.ts';
import { bundle } from './support/bundle.ts';
import { type OtlpReceiver, startOtlpReceiver } from './support/otlp-receiver.ts';
import { outcomeOf } from './support/programs.ts';
import { tempDir } from './support/temp-dir.ts';

const API = import.meta.resolve('@opentelemetry/api');

/** Runs a program that ends a span; `isTraced` says whether with us. */
async function run(
  code: string,
  receiver: Pick<OtlpReceiver, 'baseUrl'>,
  isTraced: boolean,
  env: object = {},
) {
  const file = join(tempDir(), 'program.mjs');
  writeFileSync(
    file,
    `import { trace } from '${API}';\ntrace.getTracer('program').startSpan('work').end();\n${code}`,
  );
  const register = ['--import', pathToFileURL(join(bundle(), 'register.js')).href];
  const child = spawn(process.execPath, [...(isTraced ? register : []), file], {
    env: { PATH: process.env.PATH, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.baseUrl, ...env },
    timeout: 30_000,
  });
  child.stdin.end();
  return outcomeOf(child);
}

const BEFORE_EXIT = `
let left = 2;
process.once('beforeExit', () => console.log('once'));
process.on('beforeExit', async () => {
  console.log('beforeExit');
  if (left-- === 0) return;
  await null;
  await null;
  MORE;
});
process.on('exit', (code) => console.log('exit', code, process.listenerCount('beforeExit')));
process.exitCode = 5;
`;

const MORE = [
  ['a timer', "setTimeout(() => console.log('more'), 20)"],
  ['nothing', ''],
  ['an immediate', "setImmediate(() => console.log('more'))"],
  [
    'the reading of a file',
    "(await import('node:fs')).readFile(process.execPath, () => console.log('more'))",
  ],
] as const;
for (const [what, more] of MORE) {
  test(`beforeExit comes as often as without us where its listener starts ${what}`, async () => {
    await using receiver = await startOtlpReceiver();
    const code = BEFORE_EXIT.replace('MORE', more);
    const [plain, traced] = await Promise.all([run(code, receiver, false), run(code, receiver, true)]);
    assert.deepEqual(traced, plain);
    assert.equal(receiver.spans.length, 1);
  });
}

test('stdout is as without us until the program uses it, also where modules are hooked by a thread', async () => {
  await using receiver = await startOtlpReceiver();
  // Whether it blocks, as the system says.
  const code = `import fs from 'node:fs';
const flags = '/proc/self/fdinfo/1';
fs.writeSync(1, fs.existsSync(flags) ? /flags:.*/.exec(fs.readFileSync(flags, 'utf8'))[0] : 'unknown');`;
  const [plain, traced] = await Promise.all([run(code, receiver, false), run(code, receiver, true)]);
  assert.deepEqual(traced, plain);
});

test('a spool in a folder that cannot be made is said, and the program ends', async () => {
  const closed = { baseUrl: 'http://127.0.0.1:1' };
  const spool = { MCP_OBSERVATORY_SPOOL: '/proc/none/such' };
  const { code, signal, stderr } = await run('', closed, true, spool);
  assert.deepEqual([code, signal], [0, null]);
  assert.match(stderr, /no spool in \/proc\/none\/such\/otlp: ENOENT/);
});

test('the end of stdin does not keep a program for longer than its end may take', async () => {
  await using receiver = await startOtlpReceiver({ silent: true });
  const short = { MCP_OBSERVATORY_EXIT_DEADLINE_MS: '200', OTEL_TRACES_EXPORTER: 'otlp' };
  const { code, stderr } = await run('process.stdin.resume();', receiver, true, short);
  assert.equal(code, 0);
  // A flush that had gone on would have told of its own limit.
  assert.match(stderr, /^[^\n]*1 span was dropped because the program ended first[^\n]*\n$/);
});

test('an export that is not answered does not keep a program that has started its own SDK', async () => {
  await using receiver = await startOtlpReceiver({ silent: true });
  const code = `
import { NodeTracerProvider } from '${import.meta.resolve('@opentelemetry/sdk-trace-node')}';
process.on('beforeExit', () => console.error('beforeExit'));
setTimeout(() => new NodeTracerProvider().register(), 300);`;
  const quick = { MCP_OBSERVATORY_EXIT_DEADLINE_MS: '200', OTEL_BSP_SCHEDULE_DELAY: '1' };
  const { stderr } = await run(code, receiver, true, quick);
  assert.match(stderr, /beforeExit\n.*1 span was dropped/s);
});

test('a database that does not answer has one deadline at the end of a program, not one to be known and one to flush', async () => {
  const silent = { isMigrating: false, tablesSeen: new Promise<void>(() => {}) };
  const deadline = createExitDeadline(undefined, silent);
  const limits: number[] = [];
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const target = {
    forceFlush: (limitMs: number) => {
      limits.push(limitMs);
      return new Promise<void>((resolve) => setTimeout(resolve, limitMs));
    },
    shutdown: async (limitMs: number) => {
      limits.push(limitMs);
      end();
    },
    exportNow: () => {},
  };
  const ours = () => {};
  process.on('SIGTERM', ours);
  const handlers = flushOnExit(target, deadline);
  try {
    process.emit('SIGTERM', 'SIGTERM');
    await ended;
  } finally {
    handlers.removeWaiting();
    handlers.removeLast();
    process.removeListener('SIGTERM', ours);
  }
  assert.equal(limits.length, 2, 'what can be sent is sent while the database is waited for');
  assert.ok((limits[0] ?? 0) + (limits[1] ?? 0) <= deadline(), String(limits));
});

test('an optional package is imported without a context, which Deno would keep for the requests of servers', async () => {
  ensureContextManager();
  const key = createContextKey('of the caller');
  Reflect.set(globalThis, 'seenByImport', () => context.active().getValue(key));
  const load = () =>
    importPeer<{ seen: unknown }>('data:text/javascript,export const seen = globalThis.seenByImport()');
  try {
    const { seen } = await context.with(ROOT_CONTEXT.setValue(key, true), load);
    assert.equal(seen, undefined);
  } finally {
    context.disable();
    Reflect.deleteProperty(globalThis, 'seenByImport');
  }
});
