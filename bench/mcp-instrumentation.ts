/**
 * Time an instrumentation adds to one in-memory `tools/call` round trip, client and server side together, and whether
 * memory stays flat.
 *
 * Each contender runs in its own process: SDK v1, a linked pair of in-memory transports, a tracer provider and a meter
 * provider without exporters. All calls are made inside an active span, as in a traced server, so that the cost of
 * async context is not attributed to a contender. Rounds of all contenders are interleaved. The result is the median
 * over the rounds of the mean CPU time per call, garbage collection included; a busy machine disturbs CPU time less
 * than wall time. Sentry uses its own SDK; its envelopes are dropped.
 *
 * `two bare SDK spans` is a floor: a CLIENT and a SERVER span with three attributes each, made by hand around the call
 * and in the handler, active while it runs, and nothing else. `two bare SDK spans, linked` is the floor of one trace
 * across the wire: the same, with the configured propagator writing the context into `_meta` and reading it there.
 * `ours, enriched` has an `ObservatorySpanProcessor`, as `register` sets up.
 *
 *   npm run build && node dist/bench/mcp-instrumentation.js            # the table
 *   npm run build && node dist/bench/mcp-instrumentation.js --memory   # heap over 100,000 calls, or as many as follow
 *
 * The other instrumentations are installed on demand in `bench/peers`, which is not part of the repository.
 */
import { execFileSync, fork } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { type Context, context, metrics, propagation, SpanKind, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PEERS = join(ROOT, 'bench/peers/mcp');
const PEER_VERSIONS = { '@traceloop/instrumentation-mcp': '0.27.0', '@sentry/node': '11.11.0' };
const FLOOR = 'two bare SDK spans';
const LINKED = 'two bare SDK spans, linked';
const TRACES = 'ours, traces';
const ENRICHED = 'ours, enriched';
const METRICS = 'ours, traces and metrics';
const CONTENT = 'ours, all with content';
const CONTENDERS = ['none', FLOOR, LINKED, TRACES, ENRICHED, METRICS, CONTENT, ...Object.keys(PEER_VERSIONS)];
const RESULT_CHARS = [100, 50_000];
const ROUNDS = 5;
const CALLS = 10_000;
const WARM_UP = 10_000;

/** Spans each `tools/call` must give here; a contender that traces less does less work. */
const SPANS_PER_CALL: Readonly<Record<string, number>> = {
  none: 0,
  [FLOOR]: 2,
  [LINKED]: 2,
  [ENRICHED]: 2,
  [TRACES]: 2,
  [METRICS]: 2,
  [CONTENT]: 2,
  '@traceloop/instrumentation-mcp': 1,
};

async function compare(): Promise<void> {
  installPeers();
  for (const chars of RESULT_CHARS) {
    const times = new Map<string, number[]>(CONTENDERS.map((name) => [name, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of CONTENDERS) times.get(name)?.push(await runContender(name, chars));
    }
    const base = median(times.get('none') ?? []);
    const floor = median(times.get(LINKED) ?? []) - base;
    console.log(`\ntools/call with a result of ${chars} characters`);
    console.table(
      [...times].map(([contender, list]) => ({
        contender,
        'CPU us per call': median(list).toFixed(1),
        'added us': (median(list) - base).toFixed(1),
        'ratio to none': (median(list) / base).toFixed(2),
        'added, ratio to linked spans': ((median(list) - base) / floor).toFixed(2),
      })),
    );
  }
}

function installPeers(): void {
  if (existsSync(join(PEERS, 'node_modules'))) return;
  mkdirSync(PEERS, { recursive: true });
  writeFileSync(join(PEERS, 'package.json'), JSON.stringify({ private: true, dependencies: PEER_VERSIONS }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], { cwd: PEERS, stdio: 'inherit' });
}

function runContender(name: string, chars: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ['--contend', name, String(chars)]);
    child.once('message', (microseconds) => resolve(Number(microseconds)));
    child.once('error', reject);
    child.once('exit', (code) => code !== 0 && reject(new Error(`${name} ended with exit code ${code}`)));
  });
}

async function contend(name: string, chars: number): Promise<void> {
  const bench = await openBench(name, chars);
  const outer = trace.getTracer('bench').startSpan('outer');
  const microseconds = await context.with(trace.setSpan(context.active(), outer), async () => {
    for (let index = 0; index < WARM_UP; index++) await bench.call();
    const before = bench.spans();
    const started = process.cpuUsage();
    for (let index = 0; index < CALLS; index++) await bench.call();
    const { user, system } = process.cpuUsage(started);
    const expected = SPANS_PER_CALL[name];
    const perCall = (bench.spans() - before) / CALLS;
    if (expected !== undefined && perCall !== expected) throw new Error(`${name}: ${perCall} spans per call`);
    return (user + system) / CALLS;
  });
  await bench.close();
  process.send?.(microseconds, () => process.exit());
}

interface Bench {
  call(): Promise<unknown>;
  spans(): number;
  close(): Promise<void>;
}

async function openBench(name: string, chars: number): Promise<Bench> {
  let spans = 0;
  let prepare = (server: McpServer): McpServer => server;
  if (name === '@sentry/node') prepare = startSentry();
  else {
    const counting = {
      onStart: () => void spans++,
      onEnd() {},
      forceFlush: async () => {},
      shutdown: async () => {},
    };
    const spanProcessors = name === ENRICHED ? [new ObservatorySpanProcessor(), counting] : [counting];
    const tracerProvider = new NodeTracerProvider({ spanProcessors });
    tracerProvider.register();
    const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    if (name === METRICS || name === CONTENT)
      metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
    instrument(name, tracerProvider);
  }
  const result = { content: [{ type: 'text' as const, text: 'x'.repeat(chars) }] };
  const server = prepare(new McpServer({ name: 'bench', version: '1' }));
  server.registerTool(
    'work',
    { description: 'works' },
    bareHandler(name, () => result),
  );
  const client = new Client({ name: 'bench', version: '1' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  const request = { name: 'work', arguments: { query: 'q', limit: 3 } };
  return {
    call: bareCall(name, (meta) =>
      client.callTool(meta === undefined ? request : { ...request, _meta: meta }),
    ),
    spans: () => spans,
    close: () => client.close(),
  };
}

const BARE_ATTRIBUTES = {
  'mcp.method.name': 'tools/call',
  'gen_ai.tool.name': 'work',
  'gen_ai.operation.name': 'execute_tool',
};

type Meta = Record<string, unknown>;

/** The call in a span made by hand, for the floors; else as it is. */
function bareCall<T>(name: string, call: (meta?: Meta) => Promise<T>): () => Promise<T> {
  if (name !== FLOOR && name !== LINKED) return () => call();
  const inSpan = bareSpan(SpanKind.CLIENT);
  return () =>
    inSpan(context.active(), () => {
      if (name === FLOOR) return call();
      const meta: Meta = {};
      propagation.inject(context.active(), meta);
      return call(meta);
    });
}

function bareHandler<T>(name: string, work: () => T): (extra: { _meta?: Meta }) => T | Promise<T> {
  if (name !== FLOOR && name !== LINKED) return work;
  const inSpan = bareSpan(SpanKind.SERVER);
  return (extra) => {
    const active = context.active();
    return inSpan(name === FLOOR ? active : propagation.extract(active, extra._meta ?? {}), work);
  };
}

/** What any instrumentation must do at least: start a span, run the work in it, end it when the work has ended. */
function bareSpan(kind: SpanKind): <T>(parent: Context, work: () => T | Promise<T>) => Promise<T> {
  const tracer = trace.getTracer('bench');
  return async (parent, work) => {
    const span = tracer.startSpan('tools/call work', { kind, attributes: BARE_ATTRIBUTES }, parent);
    try {
      return await context.with(trace.setSpan(parent, span), work);
    } finally {
      span.end();
    }
  };
}

function instrument(name: string, tracerProvider: NodeTracerProvider): void {
  if (name.startsWith('ours')) {
    new McpInstrumentation({ captureContent: name === CONTENT }).manuallyInstrument({
      Client,
      Server,
    });
  } else if (name === '@traceloop/instrumentation-mcp') {
    const { McpInstrumentation: Traceloop } = createRequire(join(PEERS, 'package.json'))(name) as {
      McpInstrumentation: new (
        config: object,
      ) => {
        setTracerProvider(provider: unknown): void;
        manuallyInstrument(modules: object): void;
      };
    };
    const instrumentation = new Traceloop({ traceContent: false });
    instrumentation.setTracerProvider(tracerProvider);
    instrumentation.manuallyInstrument({ Client, Server });
  }
}

function startSentry(): (server: McpServer) => McpServer {
  const sentry = createRequire(join(PEERS, 'package.json'))('@sentry/node') as {
    init(options: object): void;
    wrapMcpServerWithSentry(server: McpServer, options: object): McpServer;
  };
  const transport = () => ({ send: async () => ({}), flush: async () => true });
  sentry.init({ dsn: 'http://key@127.0.0.1:1/1', tracesSampleRate: 1, transport });
  return (server) => sentry.wrapMcpServerWithSentry(server, { recordInputs: false, recordOutputs: false });
}

async function memory(calls: number): Promise<void> {
  const { gc } = globalThis;
  if (gc === undefined) {
    fork(fileURLToPath(import.meta.url), ['--memory', String(calls)], { execArgv: ['--expose-gc'] });
    return;
  }
  const bench = await openBench(METRICS, 100);
  const rows: { calls: number; 'heap MB': string }[] = [];
  const steps = 10;
  for (let step = 0; step <= steps; step++) {
    for (let index = 0; step > 0 && index < calls / steps; index++) await bench.call();
    gc();
    rows.push({
      calls: Math.round((calls / steps) * step),
      'heap MB': (process.memoryUsage().heapUsed / 2 ** 20).toFixed(2),
    });
  }
  console.table(rows);
  await bench.close();
  process.exit();
}

function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const [mode, first, second] = process.argv.slice(2);
if (mode === '--contend') await contend(first ?? 'none', Number(second));
else if (mode === '--memory') await memory(Number(first ?? 100_000));
else await compare();
