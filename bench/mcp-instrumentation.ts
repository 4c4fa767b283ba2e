/**
 * What an instrumentation adds to one in-memory `tools/call` round trip, client and server side together, and whether
 * memory stays flat. How it is measured: `contest.ts`.
 *
 * The floor are two linked spans made by hand: a CLIENT and a SERVER span with three attributes each, active while the
 * call and its handler run, the context written into `_meta` and read there by the configured propagator.
 *
 *   npm run build && node dist/bench/mcp-instrumentation.js            # the table; --peers adds Traceloop and Sentry
 *   npm run build && node dist/bench/mcp-instrumentation.js --memory   # heap over 100,000 calls, or as many as follow
 *
 * The peers are installed on demand in `bench/peers`, which is not part of the repository.
 */
import { execFileSync, fork } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
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
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { startObservatory } from '../src/setup/index.ts';
import { compare, contend, startSomeSdk } from './contest.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PEERS = join(ROOT, 'bench/peers/mcp');
const PEER_VERSIONS = { '@traceloop/instrumentation-mcp': '0.27.0', '@sentry/node': '11.11.0' };
const LINKED = 'two linked spans by hand';
const OWNED = 'ours, startObservatory';
const THEIRS = 'ours in another SDK';
const TRACES = 'ours in another SDK, not enriched';
const METRICS = 'ours, startObservatory, metrics';
const CONTENT = 'ours, startObservatory, content';
const OURS = [OWNED, THEIRS, TRACES, METRICS, CONTENT];
const RESULT_CHARS = [100, 50_000];
/** Spans each `tools/call` must give at the receiver; a contender that traces less does less work. */
const SPANS_PER_CALL: Readonly<Record<string, number>> = {
  none: 0,
  [LINKED]: 2,
  ...Object.fromEntries(OURS.map((name) => [name, 2])),
  '@traceloop/instrumentation-mcp': 1,
};

interface Bench {
  call(): Promise<unknown>;
  flush(): Promise<void>;
  close(): Promise<void>;
}

async function openBench(name: string, chars: number): Promise<Bench> {
  let prepare = (server: McpServer): McpServer => server;
  let flush = async () => {};
  if (name === '@sentry/node') prepare = startSentry();
  else flush = await startSdk(name);
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
  await flush();
  let calls = 0;
  return {
    call: bareCall(name, (meta) => {
      // No two calls have the same arguments: what is known of those before is of no use.
      const request = { name: 'work', arguments: { query: 'q', limit: calls++ } };
      return client.callTool(meta === undefined ? request : { ...request, _meta: meta });
    }),
    flush,
    close: () => client.close(),
  };
}

/** @returns what exports all spans that have ended. */
async function startSdk(name: string): Promise<() => Promise<void>> {
  if (name === METRICS) {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  }
  if ([OWNED, METRICS, CONTENT].includes(name)) {
    const observatory = await startObservatory({ otlp: true, captureContent: name === CONTENT });
    instrument(name, observatory.tracerProvider);
    return () => observatory.forceFlush();
  }
  const provider = startSomeSdk(name === THEIRS ? [new ObservatorySpanProcessor()] : []);
  instrument(name, provider);
  return () => provider.forceFlush();
}

const BARE_ATTRIBUTES = {
  'mcp.method.name': 'tools/call',
  'gen_ai.tool.name': 'work',
  'gen_ai.operation.name': 'execute_tool',
};

type Meta = Record<string, unknown>;

/** The call in a span made by hand, for the floor; else as it is. */
function bareCall<T>(name: string, call: (meta?: Meta) => Promise<T>): () => Promise<T> {
  if (name !== LINKED) return () => call();
  const inSpan = bareSpan(SpanKind.CLIENT);
  return () =>
    inSpan(context.active(), () => {
      const meta: Meta = {};
      propagation.inject(context.active(), meta);
      return call(meta);
    });
}

function bareHandler<T>(name: string, work: () => T): (extra: { _meta?: Meta }) => T | Promise<T> {
  if (name !== LINKED) return work;
  const inSpan = bareSpan(SpanKind.SERVER);
  return (extra) => inSpan(propagation.extract(context.active(), extra._meta ?? {}), work);
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

function instrument(name: string, tracerProvider: unknown): void {
  if (OURS.includes(name)) {
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

/** Its own SDK; its envelopes are dropped. */
function startSentry(): (server: McpServer) => McpServer {
  const sentry = createRequire(join(PEERS, 'package.json'))('@sentry/node') as {
    init(options: object): void;
    wrapMcpServerWithSentry(server: McpServer, options: object): McpServer;
  };
  const transport = () => ({ send: async () => ({}), flush: async () => true });
  sentry.init({ dsn: 'http://key@127.0.0.1:1/1', tracesSampleRate: 1, transport });
  return (server) => sentry.wrapMcpServerWithSentry(server, { recordInputs: false, recordOutputs: false });
}

function installPeers(): void {
  if (existsSync(join(PEERS, 'node_modules'))) return;
  mkdirSync(PEERS, { recursive: true });
  writeFileSync(join(PEERS, 'package.json'), JSON.stringify({ private: true, dependencies: PEER_VERSIONS }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], { cwd: PEERS, stdio: 'inherit' });
}

async function memory(calls: number): Promise<void> {
  const { gc } = globalThis;
  if (gc === undefined) {
    fork(fileURLToPath(import.meta.url), ['--memory', String(calls)], { execArgv: ['--expose-gc'] });
    return;
  }
  const sink = createServer((request, response) => request.resume().on('end', () => response.end()));
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
  const bench = await openBench(OWNED, 100);
  const rows: { calls: number; 'heap MB': string }[] = [];
  const steps = 10;
  for (let step = 0; step <= steps; step++) {
    for (let index = 0; step > 0 && index < calls / steps; index++) {
      await bench.call();
      if (index % 50 === 0) await turn();
    }
    await bench.flush();
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

const [mode, first, second] = process.argv.slice(2);
if (mode === '--contend') {
  const { call, flush } = await openBench(first ?? 'none', Number(second));
  contend(call, flush);
} else if (mode === '--memory') await memory(Number(first ?? 100_000));
else {
  if (mode === '--peers') installPeers();
  const peers = mode === '--peers' ? Object.keys(PEER_VERSIONS) : [];
  for (const chars of RESULT_CHARS) {
    await compare({
      title: `tools/call with a result of ${chars} characters`,
      program: fileURLToPath(import.meta.url),
      args: [String(chars)],
      contenders: ['none', LINKED, ...OURS, ...peers],
      seldom: [TRACES, METRICS, CONTENT, ...peers],
      spansPerCall: SPANS_PER_CALL,
    });
  }
}
