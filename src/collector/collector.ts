import { join } from 'node:path';
import { diag, type MeterProvider } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import {
  createOtlpExporter,
  DurableSpanProcessor,
  DurableSpanWriter,
  type DurableStats,
  type OtlpOptions,
} from '../durable/index.ts';
import { PostgresSpanExporter } from '../postgres/index.ts';
import { ObservatorySpanProcessor, resolveCaptureContent } from '../processor/index.ts';
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

/** A collector that runs. */
export interface Collector extends AsyncDisposable {
  /** Base URL of OTLP over HTTP and of the health endpoints; `undefined` when not served. */
  readonly httpUrl: string | undefined;
  /** `host:port` of OTLP over gRPC; `undefined` when not served. */
  readonly grpcAddress: string | undefined;
  /** Base URL of the health endpoints' own port; `undefined` when there is none. */
  readonly healthUrl: string | undefined;
  /** How to name the database, without its password. */
  readonly database: string;
  /** Spans handled so far. */
  readonly stats: DurableStats;
  /**
   * Takes no new requests, answers those under way, and closes everything. What is on disk stays for the next process.
   * Calling it again does nothing more.
   */
  close(): Promise<void>;
}

/**
 * Starts the service that takes spans over OTLP, enriches them as the processor does in process, and writes them to
 * `mcp_traces`. A request is answered with success only when its spans stand in the database or, forced to the disk, in
 * the spool.
 *
 * @throws ObservatoryError `INVALID_OPTION` for options that cannot be used; the database's error for one that will
 *   not mend itself. A database that cannot be reached is waited for.
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
    const { maxRequests, maxPendingBytes } = options;
    this.#admission = new RequestAdmission({ maxRequests, maxBytes: maxPendingBytes });
    this.#metrics = new CollectorMetrics(options.meterProvider, this.#admission);
  }

  get database(): string {
    return this.#watch?.name ?? '';
  }

  get stats(): DurableStats {
    return this.#writer.stats;
  }

  async start(): Promise<void> {
    const { databaseUrl, http, grpc, health, forward, spool, meterProvider } = this.#options;
    const tls = this.#options.tls === undefined ? undefined : await readTls(this.#options.tls);
    await this.#writer.ready();
    if (forward !== undefined) {
      this.#forwarder = await Forwarder.create({ target: forward, spool, meterProvider });
    }
    this.#watch = await DatabaseWatch.start({
      url: databaseUrl,
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
    const { tokens = [], captureContent, maxBodyBytes, maxSpans } = this.#options;
    const processor = new ObservatorySpanProcessor({ redactContent: !resolveCaptureContent(captureContent) });
    return {
      intake: new Intake({
        processor,
        writer: this.#writer,
        onSafe: (spans) => this.#forwarder?.forward(spans),
        maxSpans,
      }),
      admission: this.#admission,
      bearer: new BearerCheck(tokens),
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
    await Promise.all(this.#receivers.map((receiver) => receiver.close(this.#options.drainTimeoutMs)));
    // All is written or refused by now; after this the counts of the writer are no longer observed.
    await flush(this.#options.meterProvider);
    await this.#writer.shutdown();
    await this.#forwarder?.close().catch((error: Error) => diag.error(`mcp-observatory: ${error.message}`));
    await this.#watch?.close();
    this.#metrics.end();
  }
}

/** Sends the last metrics, when their provider can be told to. Takes a few seconds at most, and never rejects. */
async function flush(meterProvider: MeterProvider): Promise<void> {
  if (!('forceFlush' in meterProvider) || typeof meterProvider.forceFlush !== 'function') return;
  const late = new Promise((resolve) => setTimeout(resolve, METRICS_TIMEOUT_MS).unref());
  await Promise.race([Promise.resolve(meterProvider.forceFlush()).catch(() => {}), late]);
}

function openWriter(options: ResolvedCollectorOptions): DurableSpanWriter {
  const { databaseUrl, connections, spool, spoolMaxBytes, maxPendingSpans, meterProvider } = options;
  return new DurableSpanWriter({
    exporter: new PostgresSpanExporter({
      connection: databaseUrl,
      // One more is for spans that come back from the disk.
      maxConnections: connections + 1,
      connectTimeoutMs: 5000,
      statementTimeoutMs: 20_000,
    }),
    maxConcurrentExports: connections,
    maxExportBatchSize: 1024,
    maxQueueSize: maxPendingSpans,
    exportTimeoutMs: 30_000,
    flushTimeoutMs: options.drainTimeoutMs,
    meterProvider,
    ...(spool === undefined
      ? {}
      : { spool: { directory: spool, maxBytes: spoolMaxBytes, whenFull: 'refuse' as const } }),
  });
}

/** How long the end waits for a back end that is away, in milliseconds. */
const FLUSH_TIMEOUT_MS = 3000;

/** Where and with what spans go on. */
interface ForwardOptions {
  readonly target: OtlpOptions;
  /** Folder of the collector's spool; spans that cannot go on wait in a folder of their own in it. */
  readonly spool: string | undefined;
  readonly meterProvider: MeterProvider;
}

/**
 * Sends spans that are safe on to another back end over OTLP/HTTP, enriched and without content as they are stored. It
 * never holds up an answer: what the other back end does not take waits on disk, and without a spool in memory, where
 * it is dropped, and counted, when there is too much.
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

  /** @throws ObservatoryError `SPANS_NOT_SAFE` when spans did not go on and are not on disk. */
  close(): Promise<void> {
    return this.#processor.shutdown();
  }
}
