import { type MeterProvider, metrics } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import {
  checkOptions,
  having,
  kinds,
  type OptionKinds,
  oneOf,
  required,
  wholeNumber,
} from '../base/index.ts';

/** Options of a spool on disk. */
export interface SpoolOptions {
  /**
   * Folder for the files, created if missing. Any number of processes may share it and take over the files of dead
   * ones. The files contain all span data and are readable by this user only.
   */
  readonly directory: string;
  /**
   * When files are synced: `always` before spans count as safe, which survives a power failure; `interval` once a
   * second; `never` leaves it to the system. All three survive a crash of the process.
   * @defaultValue `always`
   */
  readonly sync?: SyncPolicy | undefined;
  /** Maximum size of all files of this process in bytes; see `whenFull`. @defaultValue 536870912 */
  readonly maxBytes?: number | undefined;
  /**
   * What to do when the files are full. `drop-oldest`: make room for new spans and count the dropped ones. `refuse`:
   * reject new spans and never drop stored ones, whatever their age, for callers that have already acknowledged them.
   * @defaultValue `drop-oldest`
   */
  readonly whenFull?: 'drop-oldest' | 'refuse' | undefined;
  /**
   * How long a process keeps trying to send a file, in milliseconds by the monotonic clock; older ones are dropped and
   * counted. A process that takes over the files of another starts anew, because the clock may have been set.
   * @defaultValue 604800000 (7 days)
   */
  readonly maxAgeMs?: number | undefined;
  /** Size at which a new file is started, in bytes. @defaultValue 4194304 */
  readonly segmentBytes?: number | undefined;
  /** Maximum spans sent from disk per second, so that a recovering back end is not overloaded. @defaultValue 10000 */
  readonly drainSpansPerSecond?: number | undefined;
}

export type SyncPolicy = 'always' | 'interval' | 'never';

export type ResolvedSpoolOptions = { readonly [K in keyof SpoolOptions]-?: NonNullable<SpoolOptions[K]> };

export interface DurableSpanProcessorOptions {
  /** The exporter: `PostgresSpanExporter`, OTLP or any other. Closed with the processor. */
  readonly exporter: SpanExporter;
  /** Destination of the metrics. @defaultValue the global provider at construction */
  readonly meterProvider?: MeterProvider | undefined;
  /** Keeps unsent spans on disk. @defaultValue none: spans wait in memory, and are dropped when it is full */
  readonly spool?: SpoolOptions | undefined;
  /**
   * Spans held in memory; further spans are dropped and counted. With a spool, spans go to disk once it is half full;
   * in a burst in which the program does not await, the oldest are encoded when it is full, 64 MiB of them at most, and
   * written as soon as the program awaits. Without a spool it must hold any such burst. @defaultValue 16384
   */
  readonly maxQueueSize?: number | undefined;
  /** Spans of one export. @defaultValue 512 */
  readonly maxExportBatchSize?: number | undefined;
  /**
   * Concurrent exports, in addition to one of spooled spans. A `PostgresSpanExporter` needs a connection for each.
   * @defaultValue 3
   */
  readonly maxConcurrentExports?: number | undefined;
  /**
   * Maximum wait of an incomplete batch for more spans, in milliseconds. With 0 a span is handed to the exporter when it
   * ends, unless `maxConcurrentExports` are under way. @defaultValue 1000
   */
  readonly scheduledDelayMs?: number | undefined;
  /** How long an export may take before it counts as failed, in milliseconds. @defaultValue 30000 */
  readonly exportTimeoutMs?: number | undefined;
  /**
   * How long `forceFlush` and `shutdown` may take, in milliseconds. With a spool, exports that are under way after half
   * of it are ended and their spans spooled. @defaultValue 30000
   */
  readonly flushTimeoutMs?: number | undefined;
  /** First retry delay after a failed export, in milliseconds; doubled for each further failure. @defaultValue 200 */
  readonly minRetryDelayMs?: number | undefined;
  /** Maximum retry delay, in milliseconds. @defaultValue 15000 */
  readonly maxRetryDelayMs?: number | undefined;
}

/** Differences between the owners of a `SafeKeeping`. */
export interface KeepingMode {
  /**
   * While the back end is down, spool spans at once and leave it to the drain to detect when it recovers. For callers
   * that wait for each span and would otherwise wait for exports that fail.
   */
  readonly sparesDownBackEnd: boolean;
  /** At shutdown, send spooled spans while the back end accepts them and time remains. */
  readonly drainsAtShutdown: boolean;
  /** Called with refused spans. */
  readonly onRefused?: (spans: readonly ReadableSpan[], error: Error) => void;
}

type Whole = Exclude<keyof DurableSpanProcessorOptions, 'exporter' | 'spool' | 'meterProvider'>;

export type ResolvedDurableOptions = { readonly [K in Whole]: number } & {
  readonly exporter: SpanExporter;
  readonly meterProvider: MeterProvider;
  readonly spool: ResolvedSpoolOptions | undefined;
};

const OPTIONS: OptionKinds<DurableSpanProcessorOptions> = {
  exporter: required(having('a SpanExporter', 'export', 'shutdown')),
  meterProvider: having('a MeterProvider', 'getMeter'),
  spool: kinds.object,
  maxQueueSize: kinds.number,
  maxExportBatchSize: kinds.number,
  maxConcurrentExports: kinds.number,
  scheduledDelayMs: kinds.number,
  exportTimeoutMs: kinds.number,
  flushTimeoutMs: kinds.number,
  minRetryDelayMs: kinds.number,
  maxRetryDelayMs: kinds.number,
};

const SPOOL_OPTIONS: OptionKinds<SpoolOptions> = {
  directory: required(kinds.string),
  sync: oneOf('always', 'interval', 'never'),
  whenFull: oneOf('drop-oldest', 'refuse'),
  maxBytes: kinds.number,
  maxAgeMs: kinds.number,
  segmentBytes: kinds.number,
  drainSpansPerSecond: kinds.number,
};

/** @throws ObservatoryError `INVALID_OPTION` when a value cannot be used. */
export function resolveDurableOptions(options: DurableSpanProcessorOptions): ResolvedDurableOptions {
  checkOptions(options, OPTIONS, 'DurableSpanProcessor');
  const { exporter, spool } = options;
  const whole = (name: Whole, byDefault: number, min: number) =>
    wholeNumber(name, options[name] ?? byDefault, min);
  const maxQueueSize = whole('maxQueueSize', 16_384, 1);
  return {
    exporter,
    meterProvider: options.meterProvider ?? metrics.getMeterProvider(),
    spool: spool === undefined ? undefined : resolveSpoolOptions(spool),
    maxQueueSize,
    maxExportBatchSize: Math.min(whole('maxExportBatchSize', 512, 1), maxQueueSize),
    maxConcurrentExports: whole('maxConcurrentExports', 3, 1),
    scheduledDelayMs: whole('scheduledDelayMs', 1000, 0),
    exportTimeoutMs: whole('exportTimeoutMs', 30_000, 1),
    flushTimeoutMs: whole('flushTimeoutMs', 30_000, 1),
    minRetryDelayMs: whole('minRetryDelayMs', 200, 1),
    maxRetryDelayMs: whole('maxRetryDelayMs', 15_000, 1),
  };
}

/** @throws ObservatoryError `INVALID_OPTION` when a value cannot be used. */
export function resolveSpoolOptions(options: SpoolOptions): ResolvedSpoolOptions {
  checkOptions(options, SPOOL_OPTIONS, 'spool');
  return {
    directory: options.directory,
    sync: options.sync ?? 'always',
    maxBytes: wholeNumber('spool.maxBytes', options.maxBytes ?? 512 * 1024 * 1024, 1),
    whenFull: options.whenFull ?? 'drop-oldest',
    maxAgeMs: wholeNumber('spool.maxAgeMs', options.maxAgeMs ?? 7 * 24 * 3_600_000, 1),
    segmentBytes: wholeNumber('spool.segmentBytes', options.segmentBytes ?? 4 * 1024 * 1024, 1),
    drainSpansPerSecond: wholeNumber('spool.drainSpansPerSecond', options.drainSpansPerSecond ?? 10_000, 1),
  };
}
