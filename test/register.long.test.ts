/**
 * `node --import mcp-observatory/register app.js` in a separate process: what an application gets without code changes.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { parse } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answer } from './support/model-answers.ts';
import { describeModelMatrix, MODEL_SDKS } from './support/model-matrix.ts';
import { OtlpCollector } from './support/otlp-collector.ts';
import { outcomeOf, type ProgramHost, type ProgramOutcome, startProgram } from './support/programs.ts';
import { ProviderServer } from './support/provider-server.ts';

const ROOT = new URL('../../', import.meta.url);
const HOST: ProgramHost = {
  node: process.execPath,
  programs: fileURLToPath(new URL('test/fixtures/llm/', ROOT)),
  register: new URL('dist/src/setup/register.js', ROOT).href,
  cwd: fileURLToPath(ROOT),
};

let collector: OtlpCollector;
let provider: ProviderServer;
before(async () => {
  [collector, provider] = await Promise.all([OtlpCollector.start(), ProviderServer.start(answer)]);
});
beforeEach(() => {
  collector.spans.length = 0;
  collector.bodies.length = 0;
  collector.points.length = 0;
});
after(async () => {
  await collector[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

describeModelMatrix(() => ({ run, collector, provider }));

test('a static import of the default export is traced too', async () => {
  const { stdout, code } = await run('static-openai.mjs', ['plain']);
  assert.deepEqual([code, stdout], [0, '']);
  await collector.until((spans) => spans.length === 1);
});

for (const [entry, app] of [
  ['openai/client', 'app.mjs'],
  ['@anthropic-ai/sdk/client', 'app.cjs'],
] as const) {
  test(`${entry} alone, without the main module, is traced: ${app}`, async () => {
    const { stdout, stderr, code } = await run(app, [entry, 'stream']);
    assert.deepEqual([code, stdout], [0, ''], stderr);
    await collector.until((spans) => spans.length > 0);
    assert.equal(collector.spans.length, 1);
    assert.equal(collector.spans[0]?.attributes['gen_ai.usage.output_tokens'], 5);
  });
}

test('content, keys and errors stay in the process with content capture off', async () => {
  const { code } = await run('app.mjs', ['openai', 'plain'], { PROMPT: 'PLANTED-PROMPT' });
  assert.equal(code, 0);
  for (const sdk of MODEL_SDKS) {
    const env = { PROMPT: 'FAIL PLANTED-PROMPT', EXPECT_ERROR: 'yes' };
    assert.equal((await run('app.mjs', [sdk, 'plain'], env)).code, 0);
  }
  await collector.until((spans) => spans.length === 4);
  for (const body of collector.bodies) {
    for (const secret of ['PLANTED-PROMPT', 'PLANTED-ANSWER', 'PLANTED-ERROR', 'sk-secret-key']) {
      assert.equal(body.includes(secret), false, secret);
    }
  }
});

test('content stands on the span when the variable asks for it', async () => {
  await run('app.mjs', ['openai', 'plain'], {
    PROMPT: 'PLANTED-PROMPT',
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'SPAN_ONLY',
  });
  await collector.until((spans) => spans.length === 1);
  assert.match(String(collector.spans[0]?.attributes['gen_ai.input.messages']), /PLANTED-PROMPT/);
  assert.match(String(collector.spans[0]?.attributes['gen_ai.output.messages']), /PLANTED-ANSWER/);
});

test('OTEL_SDK_DISABLED, and exporters that are none, send nothing, and the call works', async () => {
  const none = { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' };
  for (const env of [{ OTEL_SDK_DISABLED: 'true' }, none]) {
    const { code, stdout, stderr } = await run('app.mjs', ['openai', 'plain'], env);
    assert.deepEqual([code, stdout, stderr], [0, '', '']);
  }
  assert.equal(collector.bodies.length, 0);
});

test('the GenAI and MCP metrics go to the collector too, unless OTEL_METRICS_EXPORTER=none', async () => {
  const metrics = () => [...new Set(collector.points.map((point) => point.metric))].sort();
  await run('app.mjs', ['openai', 'plain'], { OTEL_METRICS_EXPORTER: 'none' });
  await collector.until((spans) => spans.length === 1);
  assert.deepEqual(metrics(), []);
  assert.equal((await run('app.mjs', ['openai', 'stream'])).stderr, '');
  assert.deepEqual(metrics(), [
    'gen_ai.client.operation.duration',
    'gen_ai.client.operation.time_to_first_chunk',
    'gen_ai.client.token.usage',
    'observatory.hallucination_risk',
  ]);
  collector.points.length = 0;
  assert.deepEqual(await run('../mcp/v1.mjs', ['client', 'memory']), { code: 0, stdout: '', stderr: '' });
  assert.deepEqual(metrics(), [
    'mcp.client.operation.duration',
    'mcp.client.session.duration',
    'mcp.server.operation.duration',
    'mcp.server.session.duration',
  ]);
});

for (const [how, app] of [
  ['process.exit()', 'exit.mjs'],
  ['the end of work that begins when there is no other', 'exit-late.mjs'],
  ['the end of a worker thread', 'exit-worker.mjs'],
  ['the disconnection of a cluster worker', 'exit-cluster.mjs'],
] as const) {
  test(`spans and metrics are sent at ${how}`, async () => {
    const { code, stderr } = await run(app, []);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(collector.spans.length, 1);
    assert.ok(collector.points.some(({ metric }) => metric === 'gen_ai.client.token.usage'));
  });
}

for (const [what, app, args, attribute, value] of [
  ['a stream that is open', 'open-stream.mjs', ['openai'], 'observatory.stream_end', 'abandoned'],
  ['a call without an answer', 'unread-call.mjs', ['stay'], 'observatory.stream_end', 'abandoned'],
  ['an MCP call that is under way', '../mcp/open-call.mjs', [], 'error.type', 'connection_closed'],
] as const) {
  test(`${what} at SIGTERM has its span ended and sent`, async () => {
    const child = start(app, args);
    const ended = outcomeOf(child);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    assert.equal((await ended).signal, 'SIGTERM');
    const open = collector.spans.filter((span) => span.attributes[attribute] === value);
    assert.equal(open.length, app.startsWith('../mcp') ? 2 : 1);
  });
}

test('a call whose answer nobody reads has its span at the end of the program', async () => {
  assert.equal((await run('unread-call.mjs', [])).code, 0);
  assert.equal(collector.spans[0]?.attributes['observatory.stream_end'], 'abandoned');
});

for (const handler of ['lambda-promise.mjs', 'lambda-callback.cjs']) {
  test(`the spans of an AWS Lambda function are sent before it answers, and is frozen: ${handler}`, async () => {
    const outcome = await outcomeOf(
      start('lambda.mjs', [handler], {
        AWS_LAMBDA_RUNTIME_API: '127.0.0.1:1',
        LAMBDA_TASK_ROOT: HOST.programs,
        _HANDLER: `${parse(handler).name}.handler`,
      }),
    );
    assert.deepEqual([outcome.stdout, outcome.stderr, outcome.signal], ['done', '', 'SIGKILL']);
    assert.equal(collector.spans.length, 1);
  });
}

test('a collector that is not there does not keep the application from its work, nor alive', async () => {
  const { code, stdout } = await run('app.mjs', ['openai', 'plain'], {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  });
  assert.deepEqual([code, stdout], [0, '']);
});

for (const app of ['own-sdk.mjs', 'own-sdk.cjs']) {
  test(`an application that starts its own SDK keeps it, and its spans are traced by it alone: ${app}`, async () => {
    const { code, stdout, stderr } = await run(app, ['plain']);
    assert.deepEqual([code, stdout], [0, ''], stderr);
    await collector.until((spans) => spans.length > 0);
    assert.equal(collector.spans.length, 1);
    assert.equal(collector.spans[0]?.attributes['own.sdk'], true);
  });

  test(`tracers taken before the application's SDK starts have their spans in that SDK: ${app}`, async () => {
    const { code, stderr } = await run(app, ['plain'], { EARLY: 'yes' });
    assert.deepEqual([code, stderr], [0, '']);
    await collector.until((spans) => spans.length > 1);
    assert.deepEqual(
      collector.spans.map(({ name, attributes }) => [name, attributes['own.sdk']]),
      [
        ['chat gpt-4o-mini', true],
        ['early', true],
      ],
    );
  });
}

for (const wrapped of ['', ' inside a wrapping processor']) {
  test(`spans of an application whose own SDK names another receiver${wrapped} go there, and to that of the environment`, async () => {
    await using theirs = await OtlpCollector.start();
    const { code, stdout, stderr } = await run('own-sdk.mjs', ['plain'], {
      EARLY: 'yes',
      SENDING: wrapped && 'wrapped',
      OWN_URL: `${theirs.url}/v1/traces`,
    });
    assert.deepEqual([code, stdout, stderr], [0, '', '']);
    const sent = ({ spans }: OtlpCollector) => spans.map(({ name, spanId }) => `${name} ${spanId}`).sort();
    await Promise.all([
      theirs.until((spans) => spans.length > 1),
      collector.until((spans) => spans.length > 1),
    ]);
    assert.equal(theirs.spans.length, 2);
    assert.deepEqual(sent(collector), sent(theirs));
    assert.ok(collector.spans.every(({ attributes }) => attributes['own.sdk'] === true));
  });
}

test('spans of an application whose own SDK sends none go to the receiver of the environment', async () => {
  const { stderr } = await run('own-sdk.mjs', ['plain'], { SENDING: 'none', EARLY: 'yes' });
  assert.equal(stderr, '');
  await collector.until((spans) => spans.length === 2);
  assert.ok(collector.spans.every(({ attributes }) => attributes['own.sdk'] === true));
});

test('where an own SDK hides its exporter, stderr says so only if no span went to the receiver of the environment', async () => {
  const fine = await run('own-sdk.mjs', ['plain'], { SENDING: 'hidden' });
  assert.deepEqual([fine.stderr, collector.spans.length], ['', 1]);
  await using theirs = await OtlpCollector.start();
  const { stderr } = await run('own-sdk.mjs', ['plain'], {
    SENDING: 'hidden',
    OWN_URL: `${theirs.url}/v1/traces`,
  });
  assert.match(
    stderr,
    /where the application's SDK sends its spans is not seen\. If localhost:\d+ gets none, /,
  );
  assert.equal(theirs.spans.length, 1);
});

test('at OTEL_LOG_LEVEL=info stderr says which model SDK was hooked', async () => {
  const { stderr, stdout } = await run('app.cjs', ['openai', 'plain'], { OTEL_LOG_LEVEL: 'info' });
  assert.equal(stdout, '');
  assert.match(stderr, /hooked openai \d+\.\d+\.\d+: OpenAI\.Chat\.Completions\.create/);
});

test('an SDK that was loaded before the hooks is named at the start, on stderr alone', async () => {
  const required = '--require @modelcontextprotocol/sdk/client/index.js';
  const early = { NODE_OPTIONS: `${required} --import ${HOST.register}` };
  const { stderr, stdout } = await run('app.cjs', ['openai', 'plain'], early);
  assert.equal(stdout, '');
  assert.match(stderr, /@modelcontextprotocol\/sdk was loaded before the hooks/);
});

test('beside an SDK that sets context and propagation alone, calls are traced without a word', async () => {
  const NODE_OPTIONS = `--require ${HOST.programs}context-only.cjs --import ${HOST.register}`;
  const { stderr, code } = await run('app.cjs', ['openai', 'plain'], { NODE_OPTIONS });
  assert.deepEqual([code, stderr], [0, '']);
  await collector.until((spans) => spans.length === 1);
});

for (const [program, pattern] of [
  ['v1.mjs', /hooked @modelcontextprotocol\/sdk 1\.\d+\.\d+: Protocol\._onrequest, Protocol\.request/],
  ['v1.cjs', /hooked @modelcontextprotocol\/sdk 1\.\d+\.\d+: Protocol\._onrequest, Protocol\.request/],
  ['v2.mjs', /hooked @modelcontextprotocol\/client 2\.\d+\.\d+: .*Client\.connect/],
  ['v2.cjs', /hooked @modelcontextprotocol\/server 2\.\d+\.\d+: Protocol\._onrequest/],
] as const) {
  test(`at OTEL_LOG_LEVEL=info stderr says that the MCP SDK was hooked: ${program}`, async () => {
    const { stderr, stdout } = await run(`../mcp/${program}`, ['client', 'memory'], {
      OTEL_LOG_LEVEL: 'info',
    });
    assert.equal(stdout, '');
    assert.match(stderr, pattern);
    assert.doesNotMatch(stderr, / has no /);
  });
}

async function run(
  app: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Pick<ProgramOutcome, 'code' | 'stdout' | 'stderr'>> {
  const { code, stdout, stderr } = await outcomeOf(start(app, args, env));
  return { code, stdout, stderr };
}

function start(app: string, args: readonly string[], env: Record<string, string> = {}) {
  return startProgram(HOST, [app, ...args], {
    PROVIDER_URL: provider.url,
    OTEL_SERVICE_NAME: 'fixture',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ANTHROPIC_OPEN_TELEMETRY: 'false',
    MCP_OBSERVATORY_EXIT_DEADLINE_MS: '10000',
    ...env,
  });
}
