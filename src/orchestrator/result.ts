import type { TokenTotals } from './budget.ts';
import type { OfferedUndo } from './undo.ts';

/**
 * How a failed call was, or is to be, recovered from. The four strategies the model is asked for, and the one that
 * needs no model; `other_provider` when another one of a list was asked.
 */
export type RecoveryAction =
  | 'retry_with_modified_arguments'
  | 'alternative_tool'
  | 'decomposition'
  | 'context_clarification'
  | 'automatic_retry'
  | 'other_provider';

/**
 * Why a run ended:
 * - `completed`: the model was done.
 * - `max_iterations`, `budget`, `loop`: a limit stopped it; the answer is what was known then.
 * - `model_stopped`: the model refused, was cut off, or could not be read.
 * - `provider_failed`: the model could not be reached any more. `no_servers`: no MCP server could be connected.
 * - `aborted`: the caller's signal fired, by hand or by a timeout; `errors` says why.
 */
export type StopReason =
  | 'completed'
  | 'max_iterations'
  | 'budget'
  | 'loop'
  | 'model_stopped'
  | 'provider_failed'
  | 'no_servers'
  | 'aborted';

/** One try of one tool call. */
export interface ToolChainEntry {
  /** Model turn that asked for the call, from 1. */
  readonly iteration: number;
  /** Server and MCP name, `server.tool`. The model's own word where there is no such tool. */
  readonly toolName: string;
  /** Arguments as the tool got them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly success: boolean;
  /** The value; beyond 256 Mi characters of a run's results, the text that the model was shown. */
  readonly result: unknown;
  readonly error: string | null;
  /** The server did not mark the result as an error, and its text says that the call failed. Absent when it does not. */
  readonly looksFailed?: true | undefined;
  /** In seconds. */
  readonly executionTime: number;
  /** What the model said or thought before the call. */
  readonly reasoning: string;
  /** Failed tries of this tool right before this one; 0 is the first. */
  readonly retryAttempt: number;
  /** Whether the result came from the cache. */
  readonly cached: boolean;
  /** Positions in the chain of the earlier calls whose results brought up a value of this call's arguments. */
  readonly dependsOn: readonly number[];
}

export interface ConversationToolCall {
  readonly id: string;
  /** Name as the model wrote it. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface ConversationEntry {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly toolCalls: readonly ConversationToolCall[] | null;
  readonly toolCallId: string | null;
}

export interface RunError {
  /** 0 for what went wrong before the first turn. */
  readonly iteration: number;
  /** `server.tool`, the server for a failed connection, or the provider for a failed model call. */
  readonly toolName: string;
  readonly error: string;
  readonly recoveryAction: RecoveryAction | null;
}

export interface QuarantinedTool {
  readonly toolName: string;
  readonly reason: string;
}

/** How one tool fared over a run. Times in seconds. */
export interface ToolPerformance {
  readonly toolName: string;
  readonly calls: number;
  readonly failures: number;
  /** Results that look like errors and are not marked as such; absent for none. */
  readonly looksFailed?: number;
  readonly retries: number;
  readonly cacheHits: number;
  readonly totalTime: number;
  readonly meanTime: number;
  readonly maxTime: number;
}

export interface ExecutionMetadata {
  /** In seconds. */
  readonly totalExecutionTime: number;
  readonly totalIterations: number;
  readonly toolsDiscovered: number;
  readonly serversConnected: number;
  readonly backtrackCount: number;
  /** Successful calls in percent of all, retries included and without those that look failed; 100 when there was none. */
  readonly successRate: number;
  readonly tokenUsage: TokenTotals;
  /** In US dollars; null when a price or a count is unknown. */
  readonly costUsd: number | null;
  readonly provider: string;
  readonly model: string;
  readonly stopReason: StopReason;
  readonly compactions: number;
  /** Tries of model calls that failed and were made again. */
  readonly modelRetries: number;
  readonly toolPerformance: readonly ToolPerformance[];
  /** Tools that could not be offered to the model, and why. */
  readonly quarantinedTools: readonly QuarantinedTool[];
  /** Why the run is not wholly in the audit trail. Absent when it is. */
  readonly auditProblem?: string;
  /** Why the run was not recorded as a golden, as it was asked to be. Absent when it was. */
  readonly goldenProblem?: string;
}

/** What a run gives back. `toWire` gives its snake_case form. */
export interface GhostResult {
  /** Whether the model finished by itself with an answer. Failed calls it recovered from do not count against it. */
  readonly success: boolean;
  /** The model's answer; what was known when a limit was hit; null when there is nothing. */
  readonly finalResult: unknown;
  /** The operation in a few sentences, made from the facts below. */
  readonly summary: string;
  readonly toolChain: readonly ToolChainEntry[];
  readonly conversationHistory: readonly ConversationEntry[];
  readonly errors: readonly RunError[];
  /** The steps that led to the answer and the results that disagree, one sentence each. */
  readonly reasoningTrail: readonly string[];
  /** The plan made before the first call, when one was asked for. */
  readonly plan: string | null;
  /** Steps that can be undone, last one first, with the calls that undo them. Nothing is undone unless `undo` says so. */
  readonly undo: readonly OfferedUndo[];
  readonly executionMetadata: ExecutionMetadata;
}
