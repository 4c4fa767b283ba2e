import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';
import { DurableSpanProcessor, type DurableSpanProcessorOptions } from '../../src/durable/index.ts';

type Done = Parameters<SpanExporter['export']>[1];

/** What an exporter is to make of a batch: take it, or fail with this error; a promise takes its time. */
export type Verdict = (spans: readonly ReadableSpan[]) => Error | undefined | Promise<Error | undefined>;

/** Keeps what it takes, and takes what the verdict lets through. */
export class CollectingExporter implements SpanExporter {
  readonly batches: (readonly ReadableSpan[])[] = [];
  /** Decides on each batch; may be changed at any time. */
  verdict: Verdict;
  exports = 0;
  underWay = 0;
  mostUnderWay = 0;
  isShutDown = false;

  constructor(verdict: Verdict = () => undefined) {
    this.verdict = verdict;
  }

  get spans(): ReadableSpan[] {
    return this.batches.flat();
  }

  export(spans: ReadableSpan[], done: Done): void {
    this.exports += 1;
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    void this.#decide(spans).then((error) => {
      this.underWay -= 1;
      if (error === undefined) this.batches.push(spans);
      done(error === undefined ? { code: 0 } : { code: 1, error });
    });
  }

  async shutdown(): Promise<void> {
    this.isShutDown = true;
  }

  async #decide(spans: readonly ReadableSpan[]): Promise<Error | undefined> {
    return this.verdict(spans);
  }
}

/** As a back end that cannot be reached. */
export function unreachable(): Error {
  return Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
}

/** A processor that tries again soon. */
export function processorOf(
  exporter: DurableSpanProcessorOptions['exporter'],
  options: Partial<DurableSpanProcessorOptions> = {},
): DurableSpanProcessor {
  return new DurableSpanProcessor({ exporter, minRetryDelayMs: 5, maxRetryDelayMs: 20, ...options });
}

export function end(processor: DurableSpanProcessor, spans: readonly ReadableSpan[]): void {
  for (const span of spans) processor.onEnd(span);
}

/** A segment that a process which is gone has left in a spool. */
export function leaveSegment(directory: string, name: string, content: Buffer): void {
  const folder = join(directory, '0@@gone@nowhere');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), content);
}
