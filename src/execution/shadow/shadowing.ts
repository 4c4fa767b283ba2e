import { type Context, context, isSpanContextValid, type Span, type Tracer, trace } from '@opentelemetry/api';
import {
  checkKinds,
  either,
  type FieldValues,
  having,
  kinds,
  type OptionKinds,
  required,
  VERSION,
} from '../../base/index.ts';
import { getGovernance } from '../../processor/index.ts';
import { ShadowAdmission } from './admission.ts';
import { costOfResult, type ScoreTexts, textOfResult } from './comparison.ts';
import { ShadowMetrics } from './metrics.ts';
import { observeOutcome } from './observe-outcome.ts';
import { checkNumber, type ResolvedLimits, resolveLimits } from './options.ts';
import { quietly } from './quietly.ts';
import { type ResultPair, ShadowRun } from './run.ts';
import type { ShadowComparison, ShadowOptions, ShadowOutcome, ShadowSkip, ShadowStats } from './types.ts';
import { runsBegan, runsEnded } from './under-way.ts';

/** Purpose of shadow runs. */
export interface ShadowKind {
  /** First word of the spans' names. */
  readonly word: 'shadow' | 'self_consistency';
  /** Computes the run's fields from two answers. */
  readonly score: ScoreTexts;
  /** Whether the caller waits for the run, which then keeps the process alive. */
  readonly isAwaited: boolean;
}

/** Called once per call with the comparison, or `undefined` if there is none. Must not throw. */
export type OnCompared = (comparison: ShadowComparison | undefined) => void;

const OPTIONS: OptionKinds<ShadowOptions<unknown[], unknown>> = {
  primary: required(kinds.function),
  candidate: required(kinds.function),
  name: kinds.string,
  sample: either(kinds.number, kinds.function),
  govern: kinds.object,
  maxConcurrency: kinds.number,
  budgetUsd: kinds.number,
  budgetWindowMs: kinds.number,
  assumedCostUsd: kinds.number,
  timeoutMs: kinds.number,
  textOf: kinds.function,
  costOf: kinds.function,
  onComparison: kinds.function,
  evaluationEvents: kinds.boolean,
  tracerProvider: having('a TracerProvider', 'getTracer'),
  meterProvider: having('a MeterProvider', 'getMeter'),
};

export class Shadowing<A extends unknown[], R> {
  readonly name: string;
  readonly #options: ShadowOptions<A, R>;
  readonly #kind: ShadowKind;
  readonly #limits: ResolvedLimits;
  readonly #admission: ShadowAdmission;
  readonly #metrics: ShadowMetrics;
  readonly #runs = new Set<ShadowRun>();
  readonly #tally = newTally();
  /** What is known about a run before it is over. */
  readonly #notes = new WeakMap<ShadowRun, RunNotes>();
  #isClosed = false;
  #onIdle: (() => void)[] = [];

  /** @throws ObservatoryError `INVALID_OPTION`. */
  constructor(options: ShadowOptions<A, R>, kind: ShadowKind) {
    checkKinds(options, OPTIONS, `${kind.word === 'shadow' ? 'shadow' : 'selfConsistency'}()`);
    if (typeof options.sample !== 'function') checkNumber('sample', options.sample ?? 1, 0, 1);
    this.#options = options;
    this.#kind = kind;
    this.#limits = resolveLimits(options);
    this.#admission = new ShadowAdmission(this.#limits);
    this.name = options.name ?? (options.primary.name || 'call');
    this.#metrics = new ShadowMetrics(this.name, options.meterProvider);
  }

  get stats(): ShadowStats {
    const { underWay, stuck, spentUsd } = this.#admission;
    return { ...structuredClone(this.#tally), underWay, stuck, spentUsd };
  }

  /** Calls the primary, with a shadow run if the call is sampled and the limits allow it. */
  call(args: A, primary: () => R, onCompared?: OnCompared): R {
    this.#tally.calls += 1;
    if (!this.#isChosen(args)) {
      this.#tally.unsampled += 1;
      onCompared?.(undefined);
      return primary();
    }
    const caller = context.active();
    const skip = this.#skipReason(caller);
    if (skip !== undefined) {
      this.#tally.skipped[skip] += 1;
      quietly(() => this.#metrics.count(`skipped_${skip}`));
      onCompared?.(undefined);
      return primary();
    }
    return this.#accompany(args, primary, caller, onCompared);
  }

  async shutdown(deadlineMs = 5_000): Promise<void> {
    this.#isClosed = true;
    await this.drain(deadlineMs);
  }

  async drain(deadlineMs: number): Promise<void> {
    if (this.#runs.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#onIdle.push(resolve);
      // Keeps the process alive, because a caller waits for the end.
      timer = setTimeout(resolve, deadlineMs);
    });
    clearTimeout(timer);
    for (const run of this.#runs) run.abandon();
  }

  #isChosen(args: A): boolean {
    const { sample = 1 } = this.#options;
    if (typeof sample === 'number') return sample >= 1 || Math.random() < sample;
    return this.#ask(() => sample(...args)) === true;
  }

  #skipReason(caller: Context): ShadowSkip | undefined {
    if (this.#isClosed) return 'shut_down';
    // No shadow runs inside shadow runs.
    if (getGovernance(caller)?.isShadow === true) return 'nested';
    return this.#admission.enter();
  }

  #accompany(args: A, primary: () => R, caller: Context, onCompared: OnCompared | undefined): R {
    this.#tally.started += 1;
    let run: ShadowRun | undefined;
    let own: Span | undefined;
    let inside = caller;
    const isUnderWay = quietly(() => {
      const tracer = this.#tracer();
      own = hasSpan(caller)
        ? undefined
        : tracer.startSpan(`${this.#kind.word}_primary ${this.name}`, {}, caller);
      if (own !== undefined) inside = trace.setSpan(caller, own);
      run = this.#begin(args, tracer, inside, onCompared);
    });
    if (!isUnderWay) {
      this.#count('abandoned', undefined);
      onCompared?.(undefined);
    }
    const ended = (end: { readonly value: unknown } | { readonly error: unknown }): void => {
      quietly(() => {
        own?.end();
        run?.primaryEnded(end);
      });
    };
    let outcome: R;
    try {
      outcome = own === undefined ? primary() : context.with(inside, primary);
    } catch (error) {
      ended({ error });
      throw error;
    }
    return observeOutcome(outcome, {
      value: (value) => ended({ value }),
      error: (error) => ended({ error }),
    });
  }

  #begin(args: A, tracer: Tracer, caller: Context, onCompared: OnCompared | undefined): ShadowRun {
    const { candidate, govern, costOf = costOfResult } = this.#options;
    const notes: RunNotes = { onCompared };
    const run = new ShadowRun({
      name: this.name,
      spanName: `${this.#kind.word} ${this.name}`,
      isAwaited: this.#kind.isAwaited,
      tracer,
      caller,
      primary: trace.getSpanContext(caller) ?? NO_SPAN,
      govern,
      timeoutMs: this.#limits.timeoutMs,
      evaluationEvents: this.#options.evaluationEvents ?? true,
      candidate: (signal) => candidate(...args, { signal }),
      onResult: (result) => {
        const costUsd = this.#ask(() => costOf(result));
        if (typeof costUsd === 'number' && costUsd >= 0) notes.costUsd = costUsd;
      },
      compare: (pair) => this.#compare(pair, notes),
      onOver: (over, outcome) => this.#settle(over, outcome),
    });
    this.#notes.set(run, notes);
    this.#runs.add(run);
    runsBegan(this);
    return run;
  }

  #compare(pair: ResultPair, notes: RunNotes): FieldValues {
    const { textOf = textOfResult, onComparison } = this.#options;
    const primary = this.#ask(() => textOf(pair.primary));
    const candidate = this.#ask(() => textOf(pair.candidate));
    const hasTexts = typeof primary === 'string' && typeof candidate === 'string';
    const { agreement, numericVariance, fields } = hasTexts ? this.#kind.score(primary, candidate) : NO_SCORE;
    const disagreement = agreement === undefined ? undefined : 1 - agreement;
    if (disagreement !== undefined) quietly(() => this.#metrics.disagreement(disagreement));
    const comparison: ShadowComparison = {
      agreement,
      disagreement,
      numericVariance,
      primaryMs: pair.primaryMs,
      candidateMs: pair.candidateMs,
      candidateCostUsd: notes.costUsd,
      primaryResult: pair.primary,
      candidateResult: pair.candidate,
      candidateText: candidate,
    };
    if (hasTexts) notes.comparison = comparison;
    this.#ask(() => onComparison?.(comparison));
    return fields;
  }

  #settle(run: ShadowRun, outcome: ShadowOutcome): void {
    this.#runs.delete(run);
    const notes = this.#notes.get(run);
    this.#count(outcome, notes?.costUsd);
    quietly(() => notes?.onCompared?.(notes.comparison));
    if (run.isCandidateUnderWay) {
      const free = this.#admission.strand();
      void run.settled.then(free);
    }
    if (this.#runs.size > 0) return;
    runsEnded(this);
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #count(outcome: ShadowOutcome, costUsd: number | undefined): void {
    this.#admission.leave(costUsd);
    this.#tally.outcomes[outcome] += 1;
    quietly(() => this.#metrics.count(outcome));
  }

  /** Calls a user's function; errors are counted and logged only. */
  #ask<T>(question: () => T): T | undefined {
    let answer: T | undefined;
    if (!quietly(() => (answer = question()))) this.#tally.faults += 1;
    return answer;
  }

  #tracer(): Tracer {
    return (this.#options.tracerProvider ?? trace).getTracer('mcp-observatory', VERSION);
  }
}

/** The counters behind `ShadowStats`. */
function newTally() {
  const skipped: Record<ShadowSkip, number> = {
    concurrency: 0,
    budget: 0,
    stuck: 0,
    nested: 0,
    shut_down: 0,
  };
  const outcomes: Record<ShadowOutcome, number> = {
    compared: 0,
    not_comparable: 0,
    candidate_failed: 0,
    primary_failed: 0,
    timed_out: 0,
    primary_pending: 0,
    abandoned: 0,
  };
  return { calls: 0, unsampled: 0, skipped, started: 0, outcomes, faults: 0 };
}

interface RunNotes {
  readonly onCompared: OnCompared | undefined;
  costUsd?: number;
  comparison?: ShadowComparison;
}

const NO_SCORE: ReturnType<ScoreTexts> = { fields: {} };
const NO_SPAN = { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 } as const;

function hasSpan(where: Context): boolean {
  const active = trace.getSpanContext(where);
  return active !== undefined && isSpanContextValid(active);
}
