/**
 * What an instrumentation adds to one in-memory `tools/call` round trip, client and server side together, and whether
 * memory stays flat.
 *
 * Each contender has a process of its own with an SDK that is set up to export: the pair of spans made by hand and the
 * instrumentations inside somebody else's SDK through OpenTelemetry's `BatchSpanProcessor` and OTLP exporter, ours through
 * `startObservatory`. The receiver is a server in this process, so that it costs the contenders nothing, and what it got
 * is counted. All processes take turns of {@link BURSTS} bursts of calls; after each burst the event loop turns, as it does
 * in a program that waits for something.
 *
 * - *on the path*: CPU time of the bursts alone, per call. This is what the caller of a tool waits for.
 * - *all CPU*: of the whole process, from the first call to the end of the flush after the last.
 *
 * Figures are medians over the turns of the differences to the contender without spans in the same turn; `spread` is
 * their quartiles. Ratios are of these medians, to the two linked spans made by hand: a CLIENT and a SERVER span with
 * three attributes each, active while the call and its handler run, the context written into `_meta` and read there by the
 * configured propagator. All calls are made inside an active span, as in a traced server.
 *
 *   npm run build && node dist/bench/mcp-instrumentation.js            # the table; --peers adds Traceloop and Sentry
 *   npm run build && node dist/bench/mcp-instrumentation.js --memory   # heap over 100,000 calls, or as many as follow
 *
 * The peers are installed on demand in `bench/peers`, which is not part of the repository.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
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
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { startObservatory } from '../src/setup/index.ts';
import { distribution, median } from './spread.ts';

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
const TURNS = Number(process.env.BENCH_ROUNDS ?? 25);
const BURSTS = 20;
const CALLS_PER_BURST = 50;
const WARM_UP_TURNS = 8;

/** Spans each `tools/call` must give at the receiver; a contender that traces less does less work. */
const SPANS_PER_CALL: Readonly<Record<string, number>> = {
  none: 0,
  [LINKED]: 2,
  ...Object.fromEntries(OURS.map((name) => [name, 2])),
  '@traceloop/instrumentation-mcp': 1,
};

/** CPU microseconds per call. */
interface Reading {
  readonly path: number;
  readonly all: number;
}

async function compare(contenders: readonly string[]): Promise<void> {
  for (const chars of RESULT_CHARS) {
    const children = contenders.map((name) => new Contender(name, chars));
    const readings = new Map<string, Reading[]>(contenders.map((name) => [name, []]));
    for (const child of children) await child.ready;
    for (let at = -WARM_UP_TURNS; at < TURNS; at++) {
      for (const child of children) {
        const reading = await child.turn();
        if (at >= 0) readings.get(child.name)?.push(reading);
      }
    }
    for (const child of children) child.end();
    tell(chars, readings);
  }
}

function tell(chars: number, readings: ReadonlyMap<string, readonly Reading[]>): void {
  const base = readings.get('none') ?? [];
  const added = (list: readonly Reading[], part: keyof Reading) =>
    list.map((reading, i) => reading[part] - (base[i]?.[part] ?? Number.NaN));
  const floor = readings.get(LINKED) ?? [];
  const floors = { path: median(added(floor, 'path')), all: median(added(floor, 'all')) };
  console.log(
    `\ntools/call with a result of ${chars} characters: CPU us per call, ${TURNS} turns of ${BURSTS * CALLS_PER_BURST} calls; none ${distribution(base.map(({ path }) => path))}`,
  );
  console.table(
    [...readings]
      .filter(([name]) => name !== 'none')
      .map(([contender, list]) => {
        const [path, all] = [added(list, 'path'), added(list, 'all')];
        return {
          contender,
          'added on the path (spread)': distribution(path),
          'of the linked spans': (median(path) / floors.path).toFixed(2),
          'all CPU added (spread)': distribution(all),
          'all, of the linked spans': (median(all) / floors.all).toFixed(2),
        };
      }),
  );
}

/** A contender in its process, and the receiver of its spans. */
class Contender {
  readonly name: string;
  readonly ready: Promise<unknown>;
  #received = 0;
  #child: ChildProcess | undefined;
  readonly #sink: HttpServer;

  constructor(name: string, chars: number) {
    this.name = name;
    this.#sink = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        if (request.url?.endsWith('/traces')) this.#received += countSpans(Buffer.concat(parts));
        response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      });
    });
    this.ready = this.#start(chars);
  }

  async #start(chars: number): Promise<void> {
    await new Promise<void>((resolve) => this.#sink.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(this.#sink.address() as AddressInfo).port}`;
    this.#child = fork(fileURLToPath(import.meta.url), ['--contend', this.name, String(chars)], {
      env: {
        ...process.env,
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_METRICS_EXPORTER: 'none',
      },
    });
    await this.#answer();
  }

  async turn(): Promise<Reading> {
    this.#received = 0;
    this.#child?.send('turn');
    const reading = (await this.#answer()) as Reading;
    const expected = SPANS_PER_CALL[this.name];
    const perCall = this.#received / (BURSTS * CALLS_PER_BURST);
    if (expected !== undefined && perCall !== expected)
      throw new Error(`${this.name}: ${perCall} spans of each call arrived`);
    return reading;
  }

  #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#child?.removeAllListeners();
      this.#child?.once('message', resolve);
      this.#child?.once('exit', (code) => reject(new Error(`${this.name} ended with exit code ${code}`)));
    });
  }

  end(): void {
    this.#child?.removeAllListeners('exit');
    this.#child?.kill();
    this.#sink.close();
    this.#sink.closeAllConnections();
  }
}

/** Spans of an OTLP request: fields 1, 2 and 2 of the three levels of messages. */
function countSpans(body: Buffer, path: readonly number[] = [1, 2, 2]): number {
  let count = 0;
  for (let at = 0; at < body.length; ) {
    let [tag, length] = [0, 0];
    [tag, at] = varint(body, at);
    if ((tag & 7) !== 2) throw new Error(`unexpected wire type in tag ${tag}`);
    [length, at] = varint(body, at);
    if (tag >>> 3 === path[0])
      count += path.length === 1 ? 1 : countSpans(body.subarray(at, at + length), path.slice(1));
    at += length;
  }
  return count;
}

function varint(body: Buffer, start: number): [value: number, end: number] {
  let value = 0;
  for (let at = start, shift = 0; ; at++, shift += 7) {
    const byte = body[at] as number;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return [value, at + 1];
  }
}

async function contend(name: string, chars: number): Promise<void> {
  const bench = await openBench(name, chars);
  const outer = trace.getTracer('bench').startSpan('outer');
  const active = trace.setSpan(context.active(), outer);
  process.on('message', async () => {
    let path = 0;
    const before = process.cpuUsage();
    for (let burst = 0; burst < BURSTS; burst++) {
      await context.with(active, async () => {
        const started = process.cpuUsage();
        for (let i = 0; i < CALLS_PER_BURST; i++) await bench.call();
        path += microseconds(started);
      });
      await turn();
    }
    await bench.flush();
    const calls = BURSTS * CALLS_PER_BURST;
    process.send?.({ path: path / calls, all: microseconds(before) / calls } satisfies Reading);
  });
  process.send?.('ready');
}

function microseconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

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
  const request = { name: 'work', arguments: { query: 'q', limit: 3 } };
  return {
    call: bareCall(name, (meta) =>
      client.callTool(meta === undefined ? request : { ...request, _meta: meta }),
    ),
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
  // As many as ours holds, and none sent before the flush: a full batch would be encoded inside of a call, for which
  // the figure would depend on the number of attributes more than on what is measured.
  const limits = { maxQueueSize: 16_384, maxExportBatchSize: 16_384 };
  const batches = new BatchSpanProcessor(new OTLPTraceExporter(), limits);
  const spanProcessors = name === THEIRS ? [new ObservatorySpanProcessor(), batches] : [batches];
  const provider = new NodeTracerProvider({ spanProcessors });
  provider.register();
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
      if (index % CALLS_PER_BURST === 0) await turn();
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
if (mode === '--contend') await contend(first ?? 'none', Number(second));
else if (mode === '--memory') await memory(Number(first ?? 100_000));
else {
  const withPeers = mode === '--peers';
  if (withPeers) installPeers();
  await compare(['none', LINKED, ...OURS, ...(withPeers ? Object.keys(PEER_VERSIONS) : [])]);
}
