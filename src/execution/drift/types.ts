/**
 * Terms: a *prompt* here is one model call that has a `normalized_prompt_hash`; shadow runs are none. The *window* is
 * the time looked at, the *baseline* the time before it that is held against it. A hash or template is *new* when the
 * baseline has none of it for that service and tool. New hashes are *explained* by a new template, else they drift.
 */

/** Which times are compared, and of what. */
export interface DriftQuery {
  /** Length of the window up to now, in milliseconds. */
  readonly sinceMs: number;
  /** Length of the baseline before it, in milliseconds. @defaultValue that of the window */
  readonly baselineMs?: number | undefined;
  /** Only this service, or this tool. @defaultValue all */
  readonly service?: string | undefined;
  readonly toolName?: string | undefined;
  /** The end of the window. @defaultValue now */
  readonly until?: Date | undefined;
}

/** When the spread of prompts is an alert. A limit that is not given alerts on nothing. */
export interface DriftRule {
  /** Share of a window's prompts that are new without a new template, 0..1; more than this is an alert. */
  readonly failOver?: number | undefined;
  /** Distinct hashes of the window for each one of the baseline; more than this is an alert. */
  readonly failOverGrowth?: number | undefined;
  /** Services and tools with fewer prompts in the window are not judged. @defaultValue 20 */
  readonly minPrompts?: number | undefined;
  /** Whether prompts that a new template explains count for `failOver` as well. @defaultValue false */
  readonly countTemplateChanges?: boolean | undefined;
}

/**
 * - `drift`: a limit of the rule is passed. `ok`: none is.
 * - `no_baseline`: there is nothing to compare with. `few`: too few prompts to judge by.
 */
export type DriftStatus = 'drift' | 'ok' | 'no_baseline' | 'few';

/** The prompts of one service and tool; both are null for spans that name none. */
export interface PromptDrift {
  readonly service: string | null;
  readonly toolName: string | null;
  readonly status: DriftStatus;
  readonly prompts: number;
  /** Distinct hashes. */
  readonly hashes: number;
  readonly baselinePrompts: number;
  readonly baselineHashes: number;
  readonly newHashes: number;
  readonly newPrompts: number;
  /** New hashes, and their prompts, that came under a template (or none) which the baseline has too. */
  readonly unexplainedHashes: number;
  readonly unexplainedPrompts: number;
  /** `newPrompts / prompts`, 0..1. */
  readonly newShare: number;
  /** `unexplainedPrompts / prompts`, 0..1. */
  readonly driftShare: number;
  /** `hashes / baselineHashes`; null without a baseline. */
  readonly growth: number | null;
  /** Templates that are new in the window, the first seen first. */
  readonly templateChanges: readonly TemplateChange[];
}

/** What came with a new template. */
export interface TemplateChange {
  readonly promptTemplateId: string;
  /** ISO 8601 UTC. */
  readonly firstSeen: string;
  readonly prompts: number;
  readonly hashes: number;
  readonly newHashes: number;
}

export interface DriftReport {
  readonly baselineFrom: Date;
  readonly from: Date;
  readonly until: Date;
  /** Whether any service and tool drifts by the rule. */
  readonly isAlert: boolean;
  /** Those that drift first, then by the share of unexplained prompts. */
  readonly groups: readonly PromptDrift[];
}
