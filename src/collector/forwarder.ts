import { join } from 'node:path';
import type { MeterProvider } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { createOtlpExporter, DurableSpanProcessor, type OtlpOptions } from '../durable/index.ts';

/** How long the end waits for a back end that is away, in milliseconds. */
const FLUSH_TIMEOUT_MS = 3000;

/** Where and with what spans go on. */
export interface ForwardOptions {
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
export class Forwarder {
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
