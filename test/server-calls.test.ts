import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { context, propagation, trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { ObservatoryError } from '../src/base/errors.ts';
import {
  connectServers,
  readReason,
  type ServerPool,
  type ToolCallOutcome,
} from '../src/mcp-client/index.ts';
import { tryGhost } from './support/ghost.ts';
import { collectListenerWarnings } from './support/listener-warnings.ts';
import { longTest } from './support/size.ts';
import { waitUntil } from './support/wait-until.ts';

const ROGUE = resolve(import.meta.dirname, 'fixtures/rogue-server.js');
const rogue = (...flags: string[]) => ({ command: process.execPath, args: [ROGUE, ...flags] });

async function withRogue(run: (pool: ServerPool) => Promise<void>, options = {}, flags: string[] = []) {
  await using pool = await connectServers({ mcpServers: { rogue: rogue(...flags) } }, options);
  assert.equal(pool.server('rogue').error, undefined);
  await run(pool);
}

const textOf = (outcome: ToolCallOutcome): string => {
  assert.equal(outcome.kind, 'ok', 'message' in outcome ? outcome.message : '');
  const [block] = outcome.kind === 'ok' ? outcome.result.content : [];
  return block?.type === 'text' ? block.text : '';
};

test('a list of tools over several pages keeps the good tools and says what is wrong with the others', () =>
  withRogue(async (pool) => {
    const server = pool.server('rogue');
    assert.ok(
      server.tools.some((each) => each.name === 'honest-too'),
      'second page',
    );
    assert.ok(
      server.tools.some((each) => each.name === 'no-type'),
      'a schema without a type can be saved',
    );
    assert.deepEqual(
      server.rejectedTools.map((each) => each.name),
      ['bad-schema', '', 'echo'],
    );
  }));

test('a server that changes its tools into a list beyond a bound keeps the tools read before', async () => {
  await withRogue(
    async (pool) => {
      const before = pool.tools.length;
      assert.equal(textOf(await pool.callTool('rogue', 'grow', {})), 'grown');
      await pool.toolsSettled(5_000);
      assert.equal(pool.tools.length, before);
      await assert.rejects(pool.server('rogue').listTools(), {
        code: 'TOOL_LIST_REFUSED',
        bound: 'maxTools',
      });
    },
    { maxTools: 24 },
  );
});

test('each way a call can end has its own outcome', () =>
  withRogue(async (pool) => {
    const call = (name: string, options = {}) => pool.callTool('rogue', name, { a: 1 }, options);
    assert.equal(textOf(await call('echo')), '{"a":1}');

    const failed = await call('fail');
    assert.equal(failed.kind, 'tool_error');
    assert.equal(failed.kind === 'tool_error' && failed.message, 'no such file');

    const asks = await pool.callTool('rogue', 'no-content', { resultType: 'input_required' });
    assert.match(asks.kind === 'tool_error' ? asks.message : '', /^The tool has not run: its server asks/);

    const refused = await call('refuse');
    assert.deepEqual(
      refused.kind === 'protocol_error' && [refused.errorCode, refused.message, refused.data],
      [-32000, 'not today', { retry: false }],
    );

    const empty = await call('no-content');
    assert.equal(textOf(empty), '{"hello":1,"a":1}');

    const late = await call('hang', { timeoutMs: 100 });
    assert.deepEqual(late.kind === 'timeout' && [late.limit, late.limitMs], ['idle', 100]);

    const controller = new AbortController();
    const hanging = call('hang', { signal: controller.signal });
    setTimeout(() => controller.abort('enough'), 50);
    const stopped = await hanging;
    assert.equal(stopped.kind === 'cancelled' && stopped.reason, 'enough');
    assert.equal((await call('hang', { signal: controller.signal })).kind, 'cancelled');

    // The server was told of both; a signal that had fired before sent nothing.
    assert.equal((JSON.parse(textOf(await call('cancelled'))) as number[]).length, 2);
    await assert.rejects(
      call('absent'),
      (error) => ObservatoryError.isInstance(error) && /no tool "absent"/.test(error.message),
    );
  }));

for (const protocol of ['v1', 'v2'] as const) {
  test(`content of unknown types is kept beside the known, and the raw result too, client ${protocol}`, async () => {
    await using pool = await connectServers({ mcpServers: { rogue: { ...rogue(), protocol } } });
    const outcome = await pool.callTool('rogue', 'odd-content', {});
    assert.ok(outcome.kind === 'ok', outcome.kind);
    assert.deepEqual(
      outcome.result.content.map((each) => each.type),
      ['text', 'unknown', 'image', 'resource_link', 'resource', 'text'],
    );
    assert.deepEqual(outcome.result.meta, { k: 1 });
    assert.deepEqual(
      (outcome.raw.content as readonly unknown[]).slice(0, 2),
      [
        { type: 'text', text: 'a' },
        { type: 'hologram', data: 1 },
      ],
      'as the server sent it',
    );
  });
}

test('without a gate a run holds results against the output schemas of the tools, whatever these cost', async () => {
  const names = ['liar', 'trap', 'honest', 'honest-too', 'dated'];
  const calls = names.map((name) => ({ name: `rogue__${name}` }));
  const { model } = await tryGhost('openai', [{ calls }, { text: 'done' }], {
    serverConfig: { mcpServers: { rogue: rogue() } },
  });
  const [liar, trap, ...fine] = model.requests[1]?.lastResults.map(({ text }) => text) ?? [];
  assert.match(liar ?? '', /does not fit its outputSchema: .*\/n must be number/);
  assert.match(trap ?? '', /does not fit its outputSchema/, 'in time: ^(a+)+$ backtracks');
  assert.equal(fine.length, 3);
  for (const text of fine) assert.doesNotMatch(text, /outputSchema/);
});

longTest('progress starts the timeout anew, and the total holds all the same', () =>
  withRogue(async (pool) => {
    const seen: number[] = [];
    const slow = await pool.callTool(
      'rogue',
      'slow-with-progress',
      {},
      { timeoutMs: 500, onProgress: (p) => seen.push(p.progress) },
    );
    assert.equal(textOf(slow), 'slow');
    assert.deepEqual(seen, [1, 2, 3, 4, 5]);
    const endless = await pool.callTool(
      'rogue',
      'progress-for-ever',
      {},
      { timeoutMs: 500, maxTotalTimeoutMs: 700 },
    );
    assert.deepEqual(endless.kind === 'timeout' && [endless.limit, endless.limitMs], ['total', 700]);
  }),
);

test('one signal for many calls gathers no listeners', () =>
  withRogue(async (pool) => {
    const warnings = collectListenerWarnings();
    const { signal } = new AbortController();
    for (let i = 0; i < 30; i++) await pool.callTool('rogue', 'echo', {}, { signal });
    await Promise.all(Array.from({ length: 8 }, () => pool.callTool('rogue', 'echo', {}, { signal })));
    assert.deepEqual(await warnings(), []);
  }));

test('lines that are no messages do not disturb the connection', () =>
  withRogue(
    async (pool) => assert.equal(textOf(await pool.callTool('rogue', 'garbage', {})), 'after garbage'),
    {},
    ['chatty'],
  ));

test('a server that refuses our version of the protocol and names an older one is asked for that', () =>
  withRogue(
    async (pool) => {
      assert.equal(pool.server('rogue').protocolVersion, '2025-03-26');
      assert.equal(textOf(await pool.callTool('rogue', 'echo', {})), '{}');
    },
    {},
    ['old'],
  ));

test('tools that change are read again', async () => {
  const changed: string[] = [];
  await withRogue(
    async (pool) => {
      await pool.callTool('rogue', 'grow', {});
      await waitUntil(() => changed.length > 0);
      assert.ok(pool.server('rogue').tools.some((each) => each.name === 'grown'));
    },
    { onToolsChanged: (server: { name: string }) => changed.push(server.name) },
  );
});

test('a server that dies in the middle of a call ends the call at once and is started again when asked', async () => {
  await withRogue(async (pool) => {
    const [died, waiting] = await Promise.all([
      pool.callTool('rogue', 'die', {}),
      pool.callTool('rogue', 'hang', {}),
    ]);
    assert.equal(died.kind, 'transport_error');
    assert.equal(waiting.kind, 'transport_error');
    // The message goes to the model, which is not to read what the server wrote to stderr.
    assert.equal(died.message, 'Server "rogue": the process exited with code 7.');
    assert.match(pool.server('rogue').error?.message ?? '', /exited with code 7\. .*rogue server ready/s);
    assert.equal(pool.server('rogue').state, 'dead');
    assert.equal((await pool.callTool('rogue', 'echo', {})).kind, 'transport_error');
  });
  await withRogue(
    async (pool) => {
      const before = pool.server('rogue').pid;
      await pool.callTool('rogue', 'die', {});
      assert.equal(textOf(await pool.callTool('rogue', 'echo', { again: true })), '{"again":true}');
      assert.notEqual(pool.server('rogue').pid, before);
      assert.equal(textOf(await pool.callTool('rogue', 'hello-and-bye', {})), 'bye');
      const [first, second] = await Promise.all([
        pool.callTool('rogue', 'echo', { n: 1 }),
        pool.callTool('rogue', 'echo', { n: 2 }),
      ]);
      assert.deepEqual(
        [textOf(first), textOf(second)],
        ['{"n":1}', '{"n":2}'],
        'what it did not take is sent again',
      );
    },
    { maxReconnects: 1 },
  );
});

longTest(
  'the exit of a server is reported, be its stdout closed before or after; its stdout only if it lives on',
  async () => {
    const closed = "require('node:fs').closeSync(1);";
    const holder = JSON.stringify('setTimeout(() => {}, 20000)');
    const programs: Record<string, [program: string, message: RegExp]> = {
      stdoutFirst: [
        `${closed} setTimeout(() => process.exit(7), 50)`,
        /the process exited with code 7 before/,
      ],
      exitFirst: [
        `const { spawn } = require('node:child_process');
      spawn(process.execPath, ['-e', ${holder}], { stdio: ['ignore', 'inherit', 'ignore'] }).on('spawn', () => process.exit(7))`,
        /the process exited with code 7 before/,
      ],
      signal: [
        `${closed} setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50)`,
        /ended by SIGKILL before/,
      ],
      livesOn: [`${closed} setInterval(() => {}, 1000)`, /the server closed its stdout before/],
    };
    const mcpServers = Object.fromEntries(
      Object.entries(programs).map(([name, [program]]) => [
        name,
        { command: process.execPath, args: ['-e', program] },
      ]),
    );
    await using pool = await connectServers({ mcpServers });
    for (const [name, [, message]] of Object.entries(programs)) {
      assert.match(pool.server(name).error?.message ?? '', message, name);
    }
  },
);

test('of a server that ends before it has listed its tools, the exit is told and not the closed connection', async () => {
  const result = {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 's', version: '1' },
  };
  const answer = `JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(text).id, result: ${JSON.stringify(result)} })`;
  const program = `process.stdin.once('data', (text) => { console.log(${answer}); setTimeout(() => process.exit(7), 300); })`;
  await using pool = await connectServers({
    mcpServers: { short: { command: process.execPath, args: ['-e', program] } },
  });
  assert.equal(pool.server('short').error?.message, 'Server "short": the process exited with code 7.');
});

test('a server that sends a message without end is ended', () =>
  withRogue(async (pool) => {
    const outcome = await pool.callTool('rogue', 'flood', {});
    assert.match(
      outcome.kind === 'transport_error' ? outcome.message : outcome.kind,
      /more than (10485760 bytes|100000 JSON values)/,
    );
  }));

test('a server inherits OTEL settings and the active trace, and none of the secrets', async () => {
  new NodeTracerProvider().register();
  const host = {
    OTEL_SERVICE_NAME: 'orchestrator',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
    OPENAI_API_KEY: 'secret',
    NODE_OPTIONS_FOR_TEST: 'x',
  };
  Object.assign(process.env, host);
  try {
    const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };
    await context.with(trace.setSpanContext(context.active(), span), async () => {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the config's own form of a variable
      const config = { mcpServers: { rogue: { ...rogue(), env: { MINE: '${OTEL_SERVICE_NAME}-1' } } } };
      await using pool = await connectServers(config);
      const env = JSON.parse(textOf(await pool.callTool('rogue', 'environment', {}))) as Record<
        string,
        string
      >;
      assert.equal(env.OTEL_SERVICE_NAME, 'orchestrator');
      assert.equal(env.TRACEPARENT, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
      assert.equal(env.MINE, 'orchestrator-1');
      assert.equal(env.PATH, process.env.PATH);
      assert.equal(JSON.stringify(env).includes('secret'), false);
      assert.equal(env.NODE_OPTIONS_FOR_TEST, undefined);
    });
  } finally {
    for (const name of Object.keys(host)) delete process.env[name];
    for (const api of [context, propagation, trace]) api.disable();
  }
});

test('a reason that a server gives is cut to size', () => {
  const error = new Error('x'.repeat(1_000_000), { cause: new Error('y'.repeat(1_000_000)) });
  assert.ok(readReason(error).length < 17_000);
});
