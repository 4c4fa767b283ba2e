/** What Mastra asks of a span and of the tracker of a generation, where the application has set up no observability. */
import { isObject } from '../../json/index.ts';

/** The part of Mastra's spans that is observed here. */
export interface MastraSpan {
  createChildSpan(options: unknown): MastraSpan;
  update(options: unknown): void;
  end(options?: unknown): void;
  error(options: unknown): void;
  endTree?(options?: unknown): void;
  executeInContext<T>(work: () => Promise<T>): Promise<T>;
  executeInContextSync<T>(work: () => T): T;
}

/**
 * A span that does nothing but have children. It has no id, and Mastra takes it for one of a trace that is not recorded:
 * what the application gets back is what it gets without observability.
 */
export class QuietSpan implements MastraSpan {
  readonly __isNoOp = true;
  readonly isInternal = false;
  readonly isEvent = false;
  readonly type: string | undefined;
  readonly parent: QuietSpan | undefined;

  constructor(type?: string, parent?: QuietSpan) {
    this.type = type;
    this.parent = parent;
  }

  createChildSpan(options: unknown): QuietSpan {
    const type = isObject(options) && typeof options.type === 'string' ? options.type : undefined;
    return new QuietSpan(type, this);
  }

  createEventSpan(options: unknown): QuietSpan {
    return new QuietSpan(undefined, this.createChildSpan(options));
  }

  findParent(type: string): QuietSpan | undefined {
    for (let at = this.parent; at !== undefined; at = at.parent) {
      if (at.type === type) return at;
    }
    return undefined;
  }

  createTracker(): QuietTracker {
    return new QuietTracker(this);
  }

  executeInContext<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  executeInContextSync<T>(work: () => T): T {
    return work();
  }

  update(_options: unknown): void {}
  end(_options?: unknown): void {}
  endTree(_options?: unknown): void {}
  error(_options: unknown): void {}
  exportSpan(): void {}
  getParentSpanId(): void {}
  getExportedSpanId(): void {}
}

/** Follows the steps of one generation as the tracker of `@mastra/observability` does. */
class QuietTracker {
  readonly #generation: QuietSpan;
  #step: QuietSpan | undefined;

  constructor(generation: QuietSpan) {
    this.#generation = generation;
  }

  getTracingContext(): { readonly currentSpan: QuietSpan } {
    return { currentSpan: this.#step ?? this.#generation };
  }

  startStep(): void {
    this.#step = this.#generation.createChildSpan({ type: 'model_step' });
  }

  updateStep(payload: unknown): void {
    if (isObject(payload)) this.#step?.update({ input: payload.inputMessages });
  }

  startInference(): void {
    (this.#step ?? this.#generation).createChildSpan({ type: 'model_inference' });
  }

  updateGeneration(options: unknown): void {
    this.#generation.update(options);
  }

  reportGenerationError(options: unknown): void {
    this.#generation.error(options);
  }

  endGeneration(options: unknown): void {
    this.#generation.end(options);
  }

  wrapStream<T>(stream: T): T {
    return stream;
  }

  getStepIndex(): number {
    return 0;
  }

  setInferenceContext(): void {}
  setStepIndex(): void {}
  setDeferStepClose(): void {}
  exportCurrentStep(): void {}
  getPendingStepFinishPayload(): void {}
}
