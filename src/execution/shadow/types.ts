/**
 * Terms: the *primary* is the function in use, whose result the caller gets. The *candidate* may replace it: another
 * model, prompt template or implementation. A *shadow run* is one run of the candidate alongside the primary.
 */
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { GovernanceFields } from '../../processor/index.ts';

/** Passed to a candidate as its last argument. */
export interface ShadowRunContext {
  /** Aborted when the run times out or the program ends; pass it on to stop unneeded work. */
  readonly signal: AbortSignal;
}

/** Limits on a candidate's runs. */
export interface ShadowLimits {
  /** Concurrent runs; calls beyond that have none. @defaultValue 4 */
  readonly maxConcurrency?: number | undefined;
  /** Budget of one window, in US dollars. @defaultValue no limit */
  readonly budgetUsd?: number | undefined;
  /** Length of a window of the budget, in milliseconds. @defaultValue 86400000, a day */
  readonly budgetWindowMs?: number | undefined;
  /** Assumed cost of a run of unknown cost, in US dollars. @defaultValue 0.01 */
  readonly assumedCostUsd?: number | undefined;
  /** Timeout of a run, including the wait for the primary, in milliseconds. @defaultValue 60000 */
  readonly timeoutMs?: number | undefined;
}

/** How results are read, and where findings go. */
export interface ShadowReading {
  /**
   * Text of a result, for comparison. @defaultValue the answer of a provider's response or of `mcpGhost`, a text as it
   * is, any other JSON value as canonical JSON
   */
  readonly textOf?: ((result: unknown) => string | undefined) | undefined;
  /**
   * Cost of a candidate's result in US dollars. @defaultValue by the price list from the usage of a provider's
   * response, what `mcpGhost` reports, else not known
   */
  readonly costOf?: ((result: unknown) => number | undefined) | undefined;
  /** Called with each pair of answers. Errors it throws are logged through `diag`. */
  readonly onComparison?: ((comparison: ShadowComparison) => void) | undefined;
  /** Whether the scores also become span events `gen_ai.evaluation.result`. @defaultValue true */
  readonly evaluationEvents?: boolean | undefined;
  /** Where spans go. @defaultValue the globally registered provider */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Where metrics go. @defaultValue the globally registered provider */
  readonly meterProvider?: MeterProvider | undefined;
}

export interface ShadowOptions<A extends unknown[], R> extends ShadowLimits, ShadowReading {
  readonly primary: (...args: A) => R;
  /** Gets the arguments of the call, and after them a {@link ShadowRunContext}. It must not change the arguments. */
  readonly candidate: (...args: [...A, ShadowRunContext]) => unknown;
  /** Name of spans and metrics. @defaultValue the name of `primary` */
  readonly name?: string | undefined;
  /** Share of calls with a shadow run, 0..1, or a function that decides from the arguments. @defaultValue 1 */
  readonly sample?: number | ((...args: A) => boolean) | undefined;
  /** Governance fields of the candidate's spans where they differ, e.g. its `promptTemplateId`. */
  readonly govern?: GovernanceFields | undefined;
}

/** Comparison of the two answers of one call. */
export interface ShadowComparison {
  /** Overlap of the answers' words (Jaccard), 0..1; absent when it cannot be measured, for example without text. */
  readonly agreement?: number | undefined;
  /** One minus the agreement. */
  readonly disagreement?: number | undefined;
  /** Mean relative difference of the numbers at the same places, 0..1; absent when a result has no text. */
  readonly numericVariance?: number | undefined;
  /** Times from the start to the result, in milliseconds. */
  readonly primaryMs: number;
  readonly candidateMs: number;
  /** Cost of the candidate's run in US dollars; absent when it is not known. */
  readonly candidateCostUsd?: number | undefined;
  readonly primaryResult: unknown;
  readonly candidateResult: unknown;
  /** The compared text of the candidate's result. */
  readonly candidateText?: string | undefined;
}

/**
 * How a run ended:
 * - `compared`: both gave a result. `not_comparable`: both did, and at least one has no text.
 * - `candidate_failed`, `primary_failed`: one of them threw or rejected.
 * - `timed_out`: the candidate was not done in time. `primary_pending`: the primary was not.
 * - `abandoned`: the program ended before the run did.
 */
export type ShadowOutcome =
  | 'compared'
  | 'not_comparable'
  | 'candidate_failed'
  | 'primary_failed'
  | 'timed_out'
  | 'primary_pending'
  | 'abandoned';

/**
 * Why a sampled call had no shadow run:
 * - `concurrency`, `budget`: a limit is reached.
 * - `stuck`: too many timed-out runs are still running.
 * - `nested`: the call was made inside a candidate. `shut_down`: it was made after `shutdown()`.
 */
export type ShadowSkip = 'concurrency' | 'budget' | 'stuck' | 'nested' | 'shut_down';

/**
 * Calls and runs so far. Each call is unsampled, skipped or started; each started run is in progress or has an outcome.
 */
export interface ShadowStats {
  readonly calls: number;
  readonly unsampled: number;
  readonly skipped: Readonly<Record<ShadowSkip, number>>;
  readonly started: number;
  readonly underWay: number;
  readonly outcomes: Readonly<Record<ShadowOutcome, number>>;
  /** Timed-out or abandoned runs whose candidate is still running. */
  readonly stuck: number;
  /** Charged to the budget in this window, in US dollars. */
  readonly spentUsd: number;
  /** Times `sample`, `textOf`, `costOf` or `onComparison` threw. */
  readonly faults: number;
}

/** A function with a shadow, with the primary's signature, result and errors. */
export interface Shadowed<A extends unknown[], R> extends AsyncDisposable {
  (...args: A): R;
  readonly stats: ShadowStats;
  /**
   * Stops starting runs, waits for those in progress and abandons the rest at the deadline, in milliseconds (default
   * 5000). The function stays usable, without a shadow.
   */
  shutdown(deadlineMs?: number): Promise<void>;
}
