import {
  type Attributes,
  type Context,
  context,
  type Span,
  type SpanContext,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { addEvaluationEvents, type FieldValues, semconv, toAttribute } from '../../base/index.ts';
import { type GovernanceFields, setGovernance, toAttributes } from '../../processor/index.ts';
import { faultName, quietly } from './quietly.ts';
import type { ShadowOutcome } from './types.ts';

export interface RunSetup {
  readonly name: string;
  readonly spanName: string;
  /** Whether a caller waits for the run; otherwise it does not keep the process alive. */
  readonly isAwaited: boolean;
  readonly tracer: Tracer;
  /** The caller's context, with its governance fields and baggage. */
  readonly caller: Context;
  readonly primary: SpanContext;
  readonly govern: GovernanceFields | undefined;
  readonly timeoutMs: number;
  readonly evaluationEvents: boolean;
  readonly candidate: (signal: AbortSignal) => unknown;
  /** Called with the candidate's result as soon as it is available. Must not throw. */
  readonly onResult: (result: unknown) => void;
  /** Scores the two results; called once both are available. Must not throw. */
  readonly compare: (pair: ResultPair) => FieldValues;
  /** Called once, when the run is over. */
  readonly onOver: (run: ShadowRun, outcome: ShadowOutcome) => void;
}

export interface ResultPair {
  readonly primary: unknown;
  readonly candidate: unknown;
  readonly primaryMs: number;
  readonly candidateMs: number;
}

/** How primary or candidate ended, with times of `performance.now()` in milliseconds. */
type End =
  | { readonly at: number; readonly value: unknown }
  | { readonly at: number; readonly error: unknown };

/**
 * One run of a candidate. It starts in a later turn of the event loop than the primary, and is over when both have
 * ended, one has failed or the time is up. Nothing is retained after that.
 */
export class ShadowRun {
  readonly #abort = new AbortController();
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #setup: RunSetup | undefined;
  #span: Span | undefined;
  #primary: End | undefined;
  #candidate: End | undefined;
  /** Settles when the candidate does, however late; undefined before its start. */
  #settled: Promise<void> | undefined;

  constructor(setup: RunSetup) {
    this.#setup = setup;
    setImmediate(() => this.#begin());
  }

  get isCandidateUnderWay(): boolean {
    return this.#settled !== undefined && this.#candidate === undefined;
  }

  /** The candidate's end, however late. */
  get settled(): Promise<void> {
    return this.#settled ?? Promise.resolve();
  }

  primaryEnded(end: { readonly value: unknown } | { readonly error: unknown }): void {
    if (this.#setup === undefined || this.#primary !== undefined) return;
    this.#primary = { ...end, at: performance.now() };
    // Not synchronously, because the caller waits for its result.
    if (this.#candidate !== undefined) setImmediate(() => quietly(() => this.#advance()));
  }

  /** Ends the run at program exit. */
  abandon(): void {
    quietly(() => this.#over('abandoned'));
  }

  #begin(): void {
    const setup = this.#setup;
    if (setup === undefined) return;
    this.#timer = setTimeout(() => quietly(() => this.#outOfTime()), setup.timeoutMs);
    if (!setup.isAwaited) this.#timer.unref();
    let outcome: unknown;
    try {
      this.#span = startSpan(setup);
      const active = trace.setSpan(governed(setup), this.#span);
      outcome = context.with(active, () => setup.candidate(this.#abort.signal));
    } catch (error) {
      this.#candidateEnded({ error });
      return;
    }
    // Calls `then` of a thenable once; rejects if it throws.
    this.#settled = Promise.resolve(outcome).then(
      (value) => this.#candidateEnded({ value }),
      (error: unknown) => this.#candidateEnded({ error }),
    );
  }

  #candidateEnded(end: { readonly value: unknown } | { readonly error: unknown }): void {
    const at = performance.now();
    if (this.#setup === undefined) {
      this.#candidate = { at, value: undefined };
      return;
    }
    this.#candidate = { ...end, at };
    if ('value' in end) this.#setup.onResult(end.value);
    quietly(() => this.#advance());
  }

  #advance(): void {
    const [primary, candidate] = [this.#primary, this.#candidate];
    if (candidate !== undefined && 'error' in candidate) this.#over('candidate_failed');
    else if (primary !== undefined && candidate !== undefined) {
      if ('error' in primary) this.#over('primary_failed');
      else this.#compare(primary, candidate);
    }
  }

  #compare(primary: { at: number; value: unknown }, candidate: { at: number; value: unknown }): void {
    const setup = this.#setup;
    if (setup === undefined) return;
    const scores = setup.compare({
      primary: primary.value,
      candidate: candidate.value,
      primaryMs: primary.at - this.#startedAt,
      candidateMs: candidate.at - this.#startedAt,
    });
    if (this.#span !== undefined) {
      this.#span.setAttributes(toAttributes(scores));
      if (setup.evaluationEvents) addEvaluationEvents(this.#span, scores);
    }
    this.#over(Object.keys(scores).length > 0 ? 'compared' : 'not_comparable');
  }

  #outOfTime(): void {
    this.#over(this.#candidate === undefined ? 'timed_out' : 'primary_pending');
  }

  #over(outcome: ShadowOutcome): void {
    const setup = this.#setup;
    if (setup === undefined) return;
    this.#setup = undefined;
    clearTimeout(this.#timer);
    const candidate = this.#candidate;
    const span = this.#span;
    if (span !== undefined) quietly(() => endSpan(span, outcome, candidate));
    this.#span = undefined;
    setup.onOver(this, outcome);
    // Drop the results when over, because a hanging candidate may retain the run.
    this.#primary = undefined;
    if (candidate !== undefined) this.#candidate = { at: candidate.at, value: undefined };
    else this.#abort.abort(new DOMException(`The shadow run is over: ${outcome}`, 'AbortError'));
  }
}

function governed({ caller, govern, primary }: RunSetup): Context {
  return setGovernance(trace.deleteSpan(caller), {
    ...govern,
    isShadow: true,
    shadowParentTraceId: primary.traceId,
  });
}

/** A separate trace: the candidate outlives the primary's, and its cost does not belong to it. */
function startSpan({ name, spanName, tracer, primary, govern, caller }: RunSetup): Span {
  const attributes: Attributes = {
    [toAttribute('is_shadow')]: true,
    [toAttribute('shadow_parent_trace_id')]: primary.traceId,
    'observatory.shadow.name': name,
    ...(govern?.promptTemplateId === undefined
      ? {}
      : { [toAttribute('prompt_template_id')]: govern.promptTemplateId }),
  };
  return tracer.startSpan(spanName, { root: true, attributes, links: [{ context: primary }] }, caller);
}

function endSpan(span: Span, outcome: ShadowOutcome, candidate: End | undefined): void {
  span.setAttribute('observatory.shadow.outcome', outcome);
  if (candidate === undefined) span.setAttribute(semconv.ATTR_ERROR_TYPE, outcome);
  else if ('error' in candidate) span.setAttribute(semconv.ATTR_ERROR_TYPE, faultName(candidate.error));
  if (candidate === undefined || 'error' in candidate) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(candidate?.at);
}
