import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, afterEach, before, test } from 'node:test';
import { type DiagLogger, diag, trace } from '@opentelemetry/api';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-node';
import { govern, instrument, openDatabase, PostgresSpanExporter, startObservatory } from '../src/index.ts';
import { readRows } from './support/databases.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { spanToRow } from './support/span-row.ts';

const skip = noPostgres();
let server: PostgresServer;

before(async () => {
  if (skip === false) server = await startPostgres();
});
after(async () => {
  await server?.stop();
});
afterEach(() => diag.disable());

/** The warnings of the package from now on. */
function warnings(): string[] {
  const heard: string[] = [];
  const quiet = () => {};
  const warn = (message: string) => heard.push(message);
  diag.setLogger({ error: quiet, warn, info: quiet, debug: quiet, verbose: quiet } as DiagLogger);
  return heard;
}

const CALL = { model: 'gpt-4o', prompt: 'Invoice #92311', response: 'Needs human review.' };

test('with an exporter of its own the quick start of the seed stores its row, in a program without an SDK', {
  skip,
}, async () => {
  const url = await server.createDatabase();
  const exporter = new PostgresSpanExporter({ connection: url, migrate: true });
  const interceptor = instrument({ serviceName: 'payments-mcp', exporter });
  await interceptor.interceptModelCall({
    ...CALL,
    toolName: 'payment_risk_check',
    riskTier: 'high',
    promptTemplateId: 'payment-risk-v3',
    isShadow: true,
    shadowParentTraceId: '11111111-1111-4111-8111-111111111111',
    confidence: 0.42,
    gateBlocked: true,
    fallbackUsed: true,
    fallbackType: 'human_review',
    fallbackReason: 'low_confidence',
    retries: 1,
  });
  await exporter.shutdown();
  await using db = await openDatabase({ url });
  const [row, ...more] = await readRows(db);
  assert.deepEqual(more, []);
  assert.equal(row?.service, 'payments-mcp');
  assert.equal(row?.tool_name, 'payment_risk_check');
  assert.equal(row?.fallback_type, 'human_review');
  assert.match(String(row?.prompt_hash), /^[0-9a-f]{64}$/);
});

test('an exporter that is shut down first has stored every call, those still waiting too', {
  skip,
}, async () => {
  const url = await server.createDatabase();
  const exporter = new PostgresSpanExporter({ connection: url, migrate: true });
  const interceptor = instrument({ serviceName: 's', exporter });
  for (let call = 0; call < 50; call++) await interceptor.interceptModelCall(CALL);
  await exporter.shutdown();
  await using db = await openDatabase({ url });
  assert.equal((await readRows(db)).length, 50);
  await interceptor.shutdown();
});

test('a program without a logger is told once that nothing is stored, and what to run', {
  skip,
}, async () => {
  const program = `import { NodeTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { ObservatorySpanProcessor, PostgresSpanExporter } from 'mcp-observatory';
const exporter = new PostgresSpanExporter({ connection: process.env.URL });
const spanProcessors = [new ObservatorySpanProcessor(), new BatchSpanProcessor(exporter)];
const provider = new NodeTracerProvider({ spanProcessors });
for (let i = 0; i < 3; i++) {
  provider.getTracer('t').startSpan('s').end();
  await provider.forceFlush().catch(() => {});
}
await provider.shutdown().catch(() => {});`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, URL: await server.createDatabase() },
  });
  assert.equal(stderr.match(/spans are not stored: /g)?.length, 1, stderr);
  assert.match(stderr, /Run: npx mcp-observatory db migrate/);
});

test('an exporter of others that is shut down first loses what waits, and stderr says how many', () => {
  const program = `import { instrument } from 'mcp-observatory';
let isOpen = true;
let stored = 0;
const exporter = {
  export: (spans, done) => {
    if (!isOpen) return done({ code: 1, error: new Error('is shut down') });
    setTimeout(() => { stored += spans.length; done({ code: 0 }); }, 20);
  },
  shutdown: async () => { isOpen = false; },
};
const interceptor = instrument({ serviceName: 's', exporter });
for (let i = 0; i < 50; i++) await interceptor.interceptModelCall({ model: 'm', prompt: 'p', response: 'r' });
await exporter.shutdown();
process.on('exit', () => console.log(50 - stored));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  const lost = Number(stdout);
  assert.ok(lost <= 26, stdout);
  assert.match(stderr, new RegExp(`${lost} spans were dropped because .*is shut down`));
});

test('a processor of a program without a logger says at exit what is lost', () => {
  const program = `import { DurableSpanProcessor } from 'mcp-observatory';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
const exporter = { export: () => {}, shutdown: async () => {} };
const provider = new NodeTracerProvider({ spanProcessors: [new DurableSpanProcessor({ exporter })] });
provider.getTracer('t').startSpan('work').end();
process.exit(3);`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  assert.equal(status, 3);
  assert.match(stderr, /1 span was dropped because the process ended before they were sent/);
});

test('with an exporter of its own a program without an SDK has context: govern() applies and calls are nested', async () => {
  const program = `import { instrument, govern } from 'mcp-observatory';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-node';
const exporter = new InMemorySpanExporter();
const interceptor = instrument({ serviceName: 's', exporter });
await govern({ promptTemplateId: 'risk-v3' }, () => interceptor.interceptModelCall({ model: 'gpt-4o', prompt: 'p', call:
  () => interceptor.interceptToolCall({ toolName: 't', call: async () => 'done' }) }));
await interceptor.forceFlush();
const [tool, model] = exporter.getFinishedSpans();
console.log(JSON.stringify([model.attributes['observatory.prompt_template_id'],
  tool.parentSpanContext?.spanId === model.spanContext().spanId]));`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  assert.equal(stdout.trim(), '["risk-v3",true]');
});

test('shutdown of the interceptor exports every call at once, and closes the exporter', async () => {
  const stored: string[] = [];
  let isClosed = false;
  const exporter = {
    export: (spans: readonly { name: string }[], done: (result: { code: number }) => void) => {
      stored.push(...spans.map(({ name }) => name));
      setImmediate(() => done({ code: 0 }));
    },
    shutdown: async () => {
      isClosed = true;
    },
  };
  const interceptor = instrument({ serviceName: 's', exporter: exporter as never });
  await Promise.all(Array.from({ length: 50 }, () => interceptor.interceptModelCall(CALL)));
  await interceptor.shutdown();
  await interceptor.shutdown();
  assert.deepEqual([stored.length, isClosed], [50, true]);
});

test('its spans do not go to the registered provider, and forceFlush waits for them', async () => {
  const exporter = new InMemorySpanExporter();
  await using interceptor = instrument({ serviceName: 's', exporter });
  await interceptor.interceptToolCall({ toolName: 't', call: () => 1 });
  await interceptor.forceFlush();
  const [span] = exporter.getFinishedSpans();
  assert.equal(span?.resource.attributes['service.name'], 's');
  assert.equal(trace.getTracerProvider().constructor.name, 'ProxyTracerProvider');
});

test('options that nothing reads are refused, with the nearest known one', async () => {
  const refused = (options: object) => {
    try {
      instrument({ serviceName: 's', ...options });
      return 'taken';
    } catch (error) {
      return `${(error as { code: string }).code} ${(error as Error).message}`;
    }
  };
  assert.match(refused({ exporters: {} }), /^INVALID_OPTION .*'exporters'; the nearest is 'exporter'/);
  assert.match(refused({ service_name: 's' }), /'service_name'; the nearest is 'serviceName'/);
  assert.match(refused({ capture: true }), /'capture'; the nearest is 'captureContent'/);
  assert.match(refused({ ['x'.repeat(100_000)]: 1 }), /^INVALID_OPTION .{1,1000}$/);
  assert.match(refused({ exporter: {} }), /^INVALID_OPTION .*'exporter'/);
  const provider = trace.getTracerProvider();
  assert.match(refused({ exporter: new InMemorySpanExporter(), tracerProvider: provider }), /not both/);
  await assert.rejects(startObservatory({ servicename: 's' } as object), {
    code: 'INVALID_OPTION',
    message: /the nearest is 'serviceName'/,
  });
});

test('a program that records with no SDK registered gets one warning', () => {
  // In a process of its own: another file may have been told before.
  const program = `import { instrument } from 'mcp-observatory';
const call = ${JSON.stringify(CALL)};
const interceptor = instrument({ serviceName: 's' });
await interceptor.interceptModelCall(call);
await interceptor.interceptModelCall(call);
await instrument({ serviceName: 'other' }).interceptModelCall(call);
await interceptor.shutdown();`;
  const args = ['--input-type=module', '-e', program];
  const stderrOf = (env: object) =>
    spawnSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, ...env } }).stderr;
  const warning = stderrOf({});
  assert.equal(warning.match(/no OpenTelemetry SDK is registered/g)?.length, 1, warning);
  assert.equal(stderrOf({ OTEL_SDK_DISABLED: 'true' }), '');
});

test('a prompt template can be asked for: calls without one are counted, or refused', async () => {
  const heard = warnings();
  const exporter = new InMemorySpanExporter();
  await using watching = instrument({ serviceName: 's', exporter, requirePromptTemplate: 'warn' });
  await watching.interceptModelCall({ ...CALL, promptTemplateId: 'risk-v3' });
  assert.deepEqual(heard, []);
  await watching.interceptModelCall(CALL);
  await watching.interceptModelCall(CALL);
  assert.equal(heard.length, 1);
  assert.match(heard[0] ?? '', /'chat gpt-4o' has no prompt_template_id/);

  await watching.forceFlush();
  exporter.reset();
  await using gating = instrument({ serviceName: 's', exporter, requirePromptTemplate: 'block' });
  let calls = 0;
  const call = () => {
    calls += 1;
    return 'answer';
  };
  for (const promptTemplateId of [undefined, '', '  ', 7 as never]) {
    await assert.rejects(gating.interceptModelCall({ model: 'm', prompt: 'p', call, promptTemplateId }), {
      code: 'PROMPT_TEMPLATE_MISSING',
    });
  }
  await assert.rejects(gating.interceptModelCall(CALL), { code: 'PROMPT_TEMPLATE_MISSING' });
  assert.equal(calls, 0);
  assert.equal(
    await gating.interceptModelCall({ model: 'm', prompt: 'p', call, promptTemplateId: 'v1' }),
    'answer',
  );
  await gating.forceFlush();
  const rows = exporter.getFinishedSpans().map((span) => spanToRow(span));
  assert.deepEqual(
    rows.map((row) => [row.policy_decision, row.policy_reason, row.gate_blocked]),
    [...Array.from({ length: 5 }, () => ['deny', 'prompt_template_missing', true]), [null, null, false]],
  );
  assert.throws(() => instrument({ serviceName: 's', requirePromptTemplate: true as never }), {
    code: 'INVALID_OPTION',
  });
});

test('the template of govern() counts', async () => {
  const { NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { context } = await import('@opentelemetry/api');
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider();
  provider.register();
  try {
    await using gating = instrument({ serviceName: 's', exporter, requirePromptTemplate: 'block' });
    const answer = await govern({ promptTemplateId: 'v1' }, () => gating.interceptModelCall(CALL));
    assert.equal(answer, CALL.response);
  } finally {
    await provider.shutdown();
    trace.disable();
    context.disable();
    const { propagation } = await import('@opentelemetry/api');
    propagation.disable();
  }
});
