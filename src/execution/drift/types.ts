/**
 * Terms: a *prompt* here is one model call that has a `normalized_prompt_hash`; shadow runs do not count. The *window*
 * is the period examined, the *baseline* the period before it. A hash or template is *new* if it does not occur in the
 * baseline for that service and tool. New hashes are *explained* by a new template, else they drift.
 */

/** The periods to compare, and filters. */
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

/** When the spread of prompts is an alert. An omitted limit never alerts. */
export interface DriftRule {
  /** Share of a window's prompts that are new without a new template, 0..1; more than this is an alert. */
  readonly failOver?: number | undefined;
  /** Ratio of distinct hashes, window to baseline; more than this is an alert. */
  readonly failOverGrowth?: number | undefined;
  /** Services and tools with fewer prompts in the window are not rated. @defaultValue 20 */
  readonly minPrompts?: number | undefined;
  /** Whether prompts that a new template explains count for `failOver` as well. @defaultValue false */
  readonly countTemplateChanges?: boolean | undefined;
}

/**
 * - `drift`: a limit of the rule is exceeded. `ok`: none is.
 * - `no_baseline`: nothing to compare with. `few`: too few prompts.
 */
export type DriftStatus = 'drift' | 'ok' | 'no_baseline' | 'few';

/** The prompts of one service and tool; null for spans without them. */
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

/** Prompts under a new template. */
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
  /** Whether any service and tool drifts. */
  readonly isAlert: boolean;
  /** Drifting ones first, then by share of unexplained prompts. */
  readonly groups: readonly PromptDrift[];
}
