import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';

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
