/**
 * Every public option gets a value of every kind, through the entries of the package: what is refused is an
 * `ObservatoryError` that names the option, and nothing is a raw error of the language.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import * as mcpObservatory from 'mcp-observatory';
import * as collector from 'mcp-observatory/collector';
import * as execution from 'mcp-observatory/execution';
import * as golden from 'mcp-observatory/golden';
import * as instrumentation from 'mcp-observatory/instrumentation';
import * as orchestrator from 'mcp-observatory/orchestrator';
import * as policy from 'mcp-observatory/policy';
import { tempDir } from './support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const { ObservatoryError } = mcpObservatory;

// Runs alone: instrumentations of every kind hook `require()`.

/** A text that may become a path. */
const TEXT = join(tempDir(), 'text');

/** A value of each kind of JavaScript. */
const VALUES: readonly unknown[] = [
  null,
  true,
  7,
  Number.NaN,
  TEXT,
  '',
  {},
  [],
  [7],
  () => {},
  Symbol('s'),
  7n,
  new Date(Number.NaN),
];

// biome-ignore lint/suspicious/noExplicitAny: what is given is wrong on purpose.
type Wrong = any;

/** A call with options, options that it takes, and their names. */
type Door = readonly [call: (options: Wrong) => unknown, valid: object, names: string];

const dir = tempDir();
const gate = new policy.PolicyGate({ policy: { crm: ['lookup'] } });
const client = { listTools: async () => ({ tools: [] }), callTool: async () => ({ content: [] }) };
const exporter = { export: () => {}, shutdown: async () => {} };
const db = { query: async () => ({ rows: [], rowCount: 0 }) };
const interceptor = mcpObservatory.instrument({ serviceName: 'test' });
const config = execution.TieredExecutionConfig.fromBaseCost(1, {
  tier1Confidence: 0.5,
  tier1HallucinationRisk: 0.5,
});
const STORED = join(ROOT, 'goldens/openai/invoice_review.json');
const read = await golden.readGolden(STORED);
const close = async (opened: Wrong) => {
  const { server } = opened;
  await (opened.close ?? opened.shutdown ?? server?.close)?.call(opened);
};

const PROCESSOR =
  'signals prices captureContent redactContent keepAttributes evaluationEvents requirePromptTemplate contextTax meterProvider';
const LIMITS = 'maxToolPages maxTools maxToolListBytes toolListTimeoutMs maxMessageBytes maxMessageValues';
const POOL = 'maxConnections connectTimeoutMs statementTimeoutMs ssl holdsProcess';
const MODEL = 'captureContent streamIdleTimeoutMs enabled';

const DOORS: Readonly<Record<string, Door>> = {
  ObservatorySpanProcessor: [(o) => new mcpObservatory.ObservatorySpanProcessor(o), {}, PROCESSOR],
  DurableSpanProcessor: [
    (o) => close(new mcpObservatory.DurableSpanProcessor(o)),
    { exporter },
    'exporter meterProvider spool maxQueueSize maxExportBatchSize maxConcurrentExports scheduledDelayMs exportTimeoutMs flushTimeoutMs minRetryDelayMs maxRetryDelayMs',
  ],
  'spool of DurableSpanProcessor': [
    (spool) => close(new mcpObservatory.DurableSpanProcessor({ exporter, spool } as Wrong)),
    { directory: join(dir, 'spool') },
    'directory sync maxBytes whenFull maxAgeMs segmentBytes drainSpansPerSecond',
  ],
  PostgresSpanExporter: [
    (o) => close(new mcpObservatory.PostgresSpanExporter(o)),
    { connection: 'postgresql://x@127.0.0.1:1/x' },
    `connection migrate copy maxRowsPerStatement maxCharsPerStatement maxColumnChars maxAttributeChars maxJsonChars ${POOL}`,
  ],
  ClickHouseSpanExporter: [
    (o) => close(new mcpObservatory.ClickHouseSpanExporter(o)),
    { connection: 'http://127.0.0.1:1/x' },
    'connection migrate keepDays maxRowsPerInsert maxBytesPerInsert settings maxColumnChars maxAttributeChars maxJsonChars maxConnections requestTimeoutMs compress',
  ],
  'openDatabase()': [
    (o) => mcpObservatory.openDatabase(o).then(close),
    { dataDir: join(dir, 'none'), create: false },
    `dataDir create isPrepared packageAt ${POOL}`,
  ],
  'instrument()': [
    (o) => close(mcpObservatory.instrument(o)),
    { serviceName: 'test' },
    `serviceName tracerProvider exporter ${PROCESSOR}`,
  ],
  'startObservatory()': [
    (o) => mcpObservatory.startObservatory(o).then(close),
    // Never reached: the option under test is refused before anything is started, or this one is.
    { exitDeadlineMs: -1 },
    `serviceName postgres spool migrate otlp metrics flushOnExit`,
  ],
  'getObservatoryInstrumentations()': [
    (o) => instrumentation.getObservatoryInstrumentations(o),
    {},
    'captureContent mcp openai anthropic googleGenAI frameworks',
  ],
  OpenAIInstrumentation: [(o) => new instrumentation.OpenAIInstrumentation(o).disable(), {}, MODEL],
  AnthropicInstrumentation: [
    (o) => new instrumentation.AnthropicInstrumentation(o).disable(),
    {},
    `native ${MODEL}`,
  ],
  GoogleGenAIInstrumentation: [(o) => new instrumentation.GoogleGenAIInstrumentation(o).disable(), {}, MODEL],
  FrameworkInstrumentation: [(o) => new instrumentation.FrameworkInstrumentation(o).disable(), {}, MODEL],
  McpInstrumentation: [
    (o) => new instrumentation.McpInstrumentation(o).disable(),
    {},
    'enabled captureContent contentLimitChars propagate maxMetricNames',
  ],
  'instrumentMcpClient()': [
    (o) => mcpObservatory.instrumentMcpClient({}, o),
    {},
    'enabled captureContent contentLimitChars propagate maxMetricNames',
  ],
  PolicyGate: [
    (o) => new policy.PolicyGate(o).close(),
    { policy: {} },
    'tools pins outputTypes maxEvidenceRisk decisionPoint approvals metaKeys digestKey reloadIntervalMs onReload policy',
  ],
  'PolicyHost.open()': [
    (o) => policy.PolicyHost.open(o).then(close),
    { gate, planner: { plan: async () => '' }, servers: {}, audit: false },
    'gate planner servers handlers audit onGate summarize',
  ],
  PinStore: [(o) => new policy.PinStore(o), {}, 'trustFirstUse'],
  AuditLog: [
    (o) => close(new policy.AuditLog(o)),
    { dir: join(dir, 'audit') },
    'dir key sync captureContent now',
  ],
  'gateClient()': [
    (o) => policy.gateClient(client, gate, o),
    { server: 'crm' },
    `server recheck context audit ${LIMITS}`,
  ],
  'guardedCall()': [
    (o) =>
      policy.guardedCall({ server: 'crm', tool: 'lookup', args: {} }, async () => ({}), o).catch(tellDenied),
    { gate },
    'gate audit onGate refresh',
  ],
  'serverRequestGuard()': [(o) => policy.serverRequestGuard(o), { gate }, 'gate audit context'],
  'replayTrace()': [(o) => policy.replayTrace(join(dir, 'none.jsonl'), o), {}, 'key policy gate'],
  'connectServers()': [
    (o) => orchestrator.connectServers({ mcpServers: {} }, o).then(close),
    {},
    `signal openLink onToolsChanged connectTimeoutMs closeTimeoutMs maxReconnects handlers guard expandVariables env ${LIMITS}`,
  ],
  'mcpGhost()': [
    (o) => orchestrator.mcpGhost(o),
    {
      serverConfig: { mcpServers: {} },
      provider: 'openai',
      apiKey: 'k',
      userPrompt: 'u',
      systemPrompt: 's',
      baseUrl: 'http://127.0.0.1:1',
      retry: { maxAttempts: 1 },
    },
    'golden systemPrompt provider apiKey userPrompt model namespace timeout maxIterations enableBacktracking conversationMemory signal onEvent baseUrl api gate audit caller govern plan undo maxTokens maxCostUsd priceOf temperature maxOutputTokens extraBody retry maxContextTokens keepTurns maxResultChars toolRetries breaker loop toolCache handlers connection',
  ],
  'modelPlanner()': [
    (o) => orchestrator.modelPlanner(o),
    { provider: 'openai', apiKey: 'k' },
    'provider model baseUrl apiKey timeoutMs temperature maxOutputTokens extraBody',
  ],
  'createProvider()': [
    (o) => orchestrator.createProvider('openai', o),
    { apiKey: 'k' },
    'model retry idleTimeoutMs wait apiKey baseUrl api fetch env',
  ],
  GoldenPlayer: [(o) => new golden.GoldenPlayer(read, o), {}, 'liveTools inOrder'],
  'playGolden()': [(o) => golden.playGolden(read, o).then(close), {}, 'liveTools inOrder'],
  'readGolden()': [(o) => golden.readGolden(STORED, o), {}, 'allowExpired allowEdited now'],
  'replayGolden()': [(o) => golden.replayGolden(STORED, o), {}, 'tools allowExpired options'],
  'toMatchGolden()': [
    (o) => golden.toMatchGolden(read.golden_output, join(dir, 'none.json'), o),
    {},
    'update allowExpired replayed',
  ],
  'goldenFromTrace()': [
    (o) => golden.goldenFromTrace(db, o),
    { traceId: '0'.repeat(32), path: join(dir, 'made.json') },
    'traceId path spanId testName category source',
  ],
  'recordPolicyStep()': [
    (o) => golden.recordPolicyStep({} as Wrong, o),
    { path: join(dir, 'step.json') },
    'apiKey baseUrl env path testName description category recordedAt expiresInDays gate audit',
  ],
  FallbackRouter: [(o) => new execution.FallbackRouter(o), { interceptor }, 'interceptor routes otherwise'],
  PostgresReviewQueue: [
    (o) => close(new execution.PostgresReviewQueue(o)),
    { connection: db },
    'connection expiresInMs',
  ],
  TieredExecutionEngine: [
    (o) => new execution.TieredExecutionEngine(interceptor, config, o),
    {},
    'fallbacks',
  ],
  'callWithFallback()': [
    (o) =>
      execution.callWithFallback(
        new execution.FallbackRouter({
          interceptor,
          otherwise: { type: 'draft_only', draft: () => 'draft' } as Wrong,
        }),
        o,
      ),
    { toolName: 't', call: () => 1 },
    'toolName call callId maxRetries retryDelayMs signal',
  ],
  'shadow()': [
    (o) => execution.shadow(o),
    { primary: () => 1, candidate: () => 1 },
    'primary candidate sample maxConcurrency budgetUsd budgetWindowMs assumedCostUsd timeoutMs textOf costOf onComparison',
  ],
  'driftReport()': [
    (o) => execution.driftReport(db, o),
    { sinceMs: 1 },
    'sinceMs baselineMs service toolName until',
  ],
  'templateReport()': [(o) => execution.templateReport(db, o), { sinceMs: 1 }, 'sinceMs until service'],
  'watchDrift()': [
    (o) => close(execution.watchDrift(o)),
    { db, sinceMs: 1 },
    'db intervalMs meterProvider onReport service toolName sinceMs baselineMs',
  ],
  'startCollector()': [
    (o) => collector.startCollector(o).then(close),
    { database: { ...db, close: async () => {} }, maxPendingBytes: 1 },
    'databaseUrl database clickhouseUrl migrate connections http grpc health spool spoolMaxBytes tokens tls insecure captureContent keepAttributes forward maxBodyBytes maxSpans maxRequests maxPendingBytes maxPendingSpans drainTimeoutMs meterProvider',
  ],
};

function tellDenied(error: unknown): void {
  if (!(error instanceof policy.PolicyDeniedError)) throw error;
}

/** @returns what a call throws. */
async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

function assertTyped(error: unknown, name: string): void {
  const seen = error instanceof Error ? (error.stack ?? error.message) : String(error);
  assert.ok(error instanceof ObservatoryError, `${name} is not refused by a typed error: ${seen}`);
  if (error.code !== 'INVALID_OPTION') return;
  assert.ok(error.message.length < 1_000, error.message);
}

for (const [what, [call, valid, names]] of Object.entries(DOORS)) {
  test(`${what} refuses options of the wrong kind by name`, async () => {
    let refused = 0;
    for (const options of [null, 7, TEXT, [], () => {}]) {
      const error = await thrownBy(() => call(options));
      assertTyped(error, `${String(options)} for ${what}`);
    }
    for (const name of names.split(' ')) {
      for (const value of VALUES) {
        const error = await thrownBy(() => call({ ...valid, [name]: value }));
        if (error === undefined) continue;
        assertTyped(
          error,
          `${name}: ${String(value?.constructor?.name ?? value)} ${String(value)} of ${what}`,
        );
        if ((error as { message: string }).message.includes(name)) refused += 1;
      }
    }
    // Each, but those that take anything.
    assert.ok(refused >= names.split(' ').length, `${refused} refusals name one of ${names}`);
  });
}

test('arguments of the wrong kind are refused by name', async () => {
  const calls: Readonly<Record<string, () => unknown>> = {
    'the golden of playGolden()': () => golden.playGolden('file.json' as Wrong),
    'the golden of GoldenPlayer': () => new golden.GoldenPlayer({ provider_responses: [{}] } as Wrong),
    'the first golden of detectDrift()': () => golden.detectDrift('a.json' as Wrong, read),
    'the path of readGolden()': () => golden.readGolden(read as Wrong),
    'the result of toMatchGolden()': () => golden.toMatchGolden(undefined as Wrong, STORED),
    'the database of goldenFromTrace()': () =>
      golden.goldenFromTrace('postgresql://x' as Wrong, { traceId: '', path: '' }),
    'the step of recordPolicyStep()': () => golden.recordPolicyStep(undefined as Wrong, { path: 'x' }),
    'the gate of gateClient()': () => policy.gateClient(client, 'allowlist.json' as Wrong, { server: 'crm' }),
    'the client of gateClient()': () => policy.gateClient(undefined as Wrong, gate, { server: 'crm' }),
    "the path of 'PinStore.fromFile()'": () => policy.PinStore.fromFile(undefined as Wrong),
    'the path of replayTrace()': () => policy.replayTrace(undefined as Wrong),
    'the function of govern()': () => mcpObservatory.govern({ userId: 'u' }, undefined as Wrong),
    'the fields of govern()': () => mcpObservatory.govern(undefined as Wrong, () => 1),
    "'url' of openDatabase()": () => mcpObservatory.openDatabase({ url: 7 as Wrong }),
    'the name of createProvider()': () => orchestrator.createProvider(7n as Wrong),
    'the tools of adaptTools()': () => orchestrator.adaptTools(undefined as Wrong, 'openai'),
    'the tiers of TieredExecutionConfig': () => new execution.TieredExecutionConfig(undefined as Wrong),
    'the config of TieredExecutionEngine': () =>
      new execution.TieredExecutionEngine(interceptor, {} as Wrong),
    'the router of callWithFallback()': () => execution.callWithFallback(undefined as Wrong, {} as Wrong),
    'the database of driftReport()': () => execution.driftReport('url' as Wrong, { sinceMs: 1 }),
  };
  for (const [name, call] of Object.entries(calls)) {
    const error = await thrownBy(call);
    assertTyped(error, name);
    assert.ok((error as Error).message.startsWith(`Expected ${name} to be `), String(error));
  }
});

test('the message says what was expected and what was given, and no secret', async () => {
  const messageOf = async (call: () => unknown) => ((await thrownBy(call)) as Error).message;
  assert.equal(
    await messageOf(() => new policy.PolicyGate({ policy: {}, pins: 'pins.json' as Wrong })),
    "Expected 'pins' of PolicyGate to be a PinStore, as 'PinStore.fromFile(path)' returns it, got pins.json (string)",
  );
  assert.equal(
    await messageOf(() => policy.gateClient(client, gate, { server: 'crm', context: {} as Wrong })),
    "Expected 'context' of gateClient() to be a function (tool) => ({ caller, ... }), got an object",
  );
  const tokens = 'sk-secret' as Wrong;
  assert.equal(
    await messageOf(() => collector.startCollector({ databaseUrl: 'x', tokens })),
    "Expected 'tokens' of startCollector() to be a list of strings, got a string",
  );
});
