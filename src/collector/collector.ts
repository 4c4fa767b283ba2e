import { join } from 'node:path';
import { diag, type MeterProvider } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { isDoneWithin } from '../base/index.ts';
import { ClickHouseSpanExporter } from '../clickhouse/index.ts';
import {
  createOtlpExporter,
  DurableSpanProcessor,
  type DurableSpanProcessorOptions,
  DurableSpanWriter,
  type DurableStats,
  type OtlpOptions,
} from '../durable/index.ts';
import { warmEvidence } from '../evidence/index.ts';
import { PostgresSpanExporter } from '../postgres/index.ts';
import { Enricher, resolveCaptureContent } from '../processor/index.ts';
import { DatabaseWatch } from './database-watch.ts';
import { CollectorMetrics } from './metrics.ts';
import { type CollectorOptions, type ResolvedCollectorOptions, resolveCollectorOptions } from './options.ts';
import {
  BearerCheck,
  formatAddress,
  type Gateway,
  type Health,
  Intake,
  RequestAdmission,
  type RunningReceiver,
  readTls,
  startGrpc,
  startHealth,
  startHttp,
} from './receiver/index.ts';

const METRICS_TIMEOUT_MS = 3000;
/** Share of the deadline of `close` for requests in progress; the rest is for pending writes. */
const SHARE_OF_REQUESTS = 0.8;

/** A running collector. */
export interface Collector extends AsyncDisposable {
  /** Base URL of OTLP over HTTP and of the health endpoints; `undefined` when not served. */
  readonly httpUrl: string | undefined;
  /** `host:port` of OTLP over gRPC; `undefined` when not served. */
  readonly grpcAddress: string | undefined;
  /** Base URL of the separate health port; `undefined` when there is none. */
  readonly healthUrl: string | undefined;
  /** Name of the database, without its password. */
  readonly database: string;
  /** Spans handled so far. */
  readonly stats: DurableStats;
  /**
   * Refuses new requests, answers those in progress, and closes everything. Spooled spans stay for the next process.
   * Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Starts the service that receives spans over OTLP, enriches them like the in-process processor, and writes them to
 * `mcp_traces`. A request succeeds only when its spans are in the database or synced to the spool.
 *
 * @throws ObservatoryError `INVALID_OPTION` for options that cannot be used; the database's error if it is permanent.
 * An unreachable database is waited for.
 */
export async function startCollector(options: CollectorOptions): Promise<Collector> {
  const collector = new RunningCollector(resolveCollectorOptions(options));
  try {
    await collector.start();
  } catch (error) {
    await collector.close();
    throw error;
  }
  return collector;
}

class RunningCollector implements Collector {
  readonly #options: ResolvedCollectorOptions;
  readonly #writer: DurableSpanWriter;
  readonly #admission: RequestAdmission;
  readonly #metrics: CollectorMetrics;
  readonly #receivers: RunningReceiver[] = [];
  #watch: DatabaseWatch | undefined;
  #forwarder: Forwarder | undefined;
  #isDraining = false;
  #closed: Promise<void> | undefined;
  httpUrl: string | undefined;
  grpcAddress: string | undefined;
  healthUrl: string | undefined;

  constructor(options: ResolvedCollectorOptions) {
    this.#options = options;
    this.#writer = openWriter(options);
    const { maxRequests, maxPendingBytes: maxBytes, maxPendingSpans: maxSpans } = options;
    this.#admission = new RequestAdmission({ maxRequests, maxBytes, maxSpans });
    this.#metrics = new CollectorMetrics(options.meterProvider, this.#admission);
  }

  get database(): string {
    return this.#watch?.name ?? '';
  }

  get stats(): DurableStats {
    return this.#writer.stats;
  }

  async start(): Promise<void> {
    const { databaseUrl, database, clickhouseUrl, http, grpc, health, forward, spool, meterProvider } =
      this.#options;
    const tls = this.#options.tls === undefined ? undefined : await readTls(this.#options.tls);
    await this.#writer.ready();
    if (forward !== undefined) {
      this.#forwarder = await Forwarder.create({ target: forward, spool, meterProvider });
    }
    this.#watch = await DatabaseWatch.start({
      connection: database ?? databaseUrl,
      clickhouseUrl,
      migrate: this.#options.migrate ?? true,
      isDown: () => this.#writer.stats.isBackEndDown,
      onSeen: (isUp) => this.#writer.backEndSeen(isUp),
    });
    const gateway = this.#gateway();
    const state = () => this.#health();
    if (http !== undefined) {
      const receiver = this.#add(await startHttp(http, gateway, state, tls));
      this.httpUrl = `${tls === undefined ? 'http' : 'https'}://${receiver}`;
    }
    if (grpc !== undefined) this.grpcAddress = this.#add(await startGrpc(grpc, gateway, tls));
    if (health !== undefined) this.healthUrl = `http://${this.#add(await startHealth(health, state))}`;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #add(receiver: RunningReceiver): string {
    this.#receivers.push(receiver);
    return formatAddress(receiver.address);
  }

  #gateway(): Gateway {
    const {
      tokens = [],
      corsOrigins = [],
      captureContent,
      keepAttributes,
      maxBodyBytes,
      maxSpans,
    } = this.#options;
    const redactContent = !resolveCaptureContent(captureContent);
    const enricher = new Enricher({ redactContent, keepAttributes });
    void warmEvidence();
    return {
      intake: new Intake({
        enricher,
        writer: this.#writer,
        onSafe: (spans) => this.#forwarder?.forward(spans),
        onIgnored: (signal, count) => this.#metrics.ignored(signal, count),
        onAhead: (count) => this.#metrics.ahead(count),
        maxSpans,
      }),
      admission: this.#admission,
      bearer: new BearerCheck(tokens),
      isClosed: tokens.length > 0 || this.#options.tls?.clientCa !== undefined,
      origins: new Set(corsOrigins),
      maxBodyBytes,
      isDraining: () => this.#isDraining,
      onAnswered: (answered) => this.#metrics.answered(answered),
    };
  }

  #health(): Health {
    const { waiting, spoolBytes, isBackEndDown } = this.#writer.stats;
    const hasSpool = this.#options.spool !== undefined && spoolBytes < this.#options.spoolMaxBytes;
    return {
      isReady: !this.#isDraining && (!isBackEndDown || hasSpool),
      details: {
        draining: this.#isDraining,
        database: isBackEndDown ? 'down' : 'up',
        waiting_spans: waiting,
        spool_bytes: spoolBytes,
      },
    };
  }

  async #close(): Promise<void> {
    this.#isDraining = true;
    const { drainTimeoutMs, meterProvider } = this.#options;
    const deadline = performance.now() + drainTimeoutMs;
    const restMs = () => Math.max(1, deadline - performance.now());
    const share = drainTimeoutMs * SHARE_OF_REQUESTS;
    await Promise.all(this.#receivers.map((receiver) => receiver.close(share)));
    // Everything is written or refused by now; the writer's counts are no longer observed after this.
    await flush(meterProvider, Math.min(METRICS_TIMEOUT_MS, restMs()));
    await Promise.all([this.#writer.shutdown(restMs()), this.#forwarder?.close(restMs())]);
    await this.#watch?.close();
    this.#metrics.end();
  }
}

/** Flushes the metrics if their provider supports it. Never rejects. */
async function flush(meterProvider: MeterProvider, limitMs: number): Promise<void> {
  if (!('forceFlush' in meterProvider) || typeof meterProvider.forceFlush !== 'function') return;
  await isDoneWithin(
    limitMs,
    Promise.resolve(meterProvider.forceFlush()).catch(() => {}),
  );
}

/** How long spans for ClickHouse wait for others. Fewer inserts mean fewer files that the server must merge. */
const CLICKHOUSE_LINGER_MS = 200;

/** Exporter and batch sizes of the writer. */
function openStore(
  options: ResolvedCollectorOptions,
): Pick<DurableSpanProcessorOptions, 'exporter' | 'maxConcurrentExports' | 'maxExportBatchSize'> {
  const { databaseUrl, database, clickhouseUrl } = options;
  if (clickhouseUrl !== undefined) {
    return {
      exporter: new ClickHouseSpanExporter({
        connection: clickhouseUrl,
        maxConnections: options.connections + 1,
        requestTimeoutMs: 20_000,
      }),
      maxConcurrentExports: options.connections,
      maxExportBatchSize: 10_000,
    };
  }
  // The embedded database has one connection.
  const connections = database?.kind === 'pglite' ? 1 : options.connections;
  return {
    exporter: new PostgresSpanExporter({
      connection: database ?? databaseUrl ?? '',
      // One more for spans from the spool.
      maxConnections: connections + 1,
      connectTimeoutMs: 5000,
      statementTimeoutMs: 20_000,
    }),
    maxConcurrentExports: connections,
    maxExportBatchSize: 1024,
  };
}

function openWriter(options: ResolvedCollectorOptions): DurableSpanWriter {
  const { spool, spoolMaxBytes, maxPendingSpans, maxSpans, meterProvider } = options;
  const lingerMs = options.clickhouseUrl === undefined ? 0 : CLICKHOUSE_LINGER_MS;
  const writing = {
    ...openStore(options),
    // One request may exceed the limit, since its spans are counted only once it is decoded.
    maxQueueSize: maxPendingSpans + maxSpans,
    exportTimeoutMs: 30_000,
    flushTimeoutMs: options.drainTimeoutMs,
    meterProvider,
    ...(spool === undefined
      ? {}
      : { spool: { directory: spool, maxBytes: spoolMaxBytes, whenFull: 'refuse' as const } }),
  };
  return new DurableSpanWriter(writing, lingerMs);
}

/** Time that shutdown waits for an unavailable back end, in milliseconds. */
const FLUSH_TIMEOUT_MS = 3000;

interface ForwardOptions {
  readonly target: OtlpOptions;
  /** Folder of the collector's spool; unsent spans wait in a subfolder. */
  readonly spool: string | undefined;
  readonly meterProvider: MeterProvider;
}

/**
 * Forwards safe spans to another back end over OTLP/HTTP, enriched and without content, as they are stored. It never
 * delays an answer: unsent spans wait on disk, or without a spool in memory, where the excess is dropped and counted.
 */
class Forwarder {
  readonly #processor: DurableSpanProcessor;

  private constructor(processor: DurableSpanProcessor) {
    this.#processor = processor;
  }

  /** @throws ObservatoryError `MISSING_PEER` when no OTLP/HTTP exporter is installed. */
  static async create({ target, spool, meterProvider }: ForwardOptions): Promise<Forwarder> {
    const exporter = await createOtlpExporter(target, process.env);
    const options = spool === undefined ? {} : { spool: { directory: join(spool, 'forward') } };
    const common = { exporter, meterProvider, flushTimeoutMs: FLUSH_TIMEOUT_MS };
    return new Forwarder(new DurableSpanProcessor({ ...common, ...options }));
  }

  forward(spans: readonly ReadableSpan[]): void {
    for (const span of spans) this.#processor.onEnd(span);
  }

  /** Takes `limitMs` or {@link FLUSH_TIMEOUT_MS} at most. Spans that are neither sent nor spooled are logged. */
  async close(limitMs: number): Promise<void> {
    await this.#processor
      .shutdown(Math.min(limitMs, FLUSH_TIMEOUT_MS))
      .catch((error: Error) => diag.error(`mcp-observatory: ${error.message}`));
  }
}
