import type { Message } from '../../interaction/index.ts';
import type { TokenUsage } from '../../signals/index.ts';

/** A run of `mcpGhost` as its spans tell it. Times are in milliseconds. */
export interface StoredRun {
  readonly traceId: string;
  /** Name for `createProvider`: `openai`, `anthropic`, `gemini`. */
  readonly provider: string;
  readonly model: string;
  readonly namespace: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly stopReason: string | undefined;
  /** Whether a plan was asked for before the first turn. */
  readonly hasPlan: boolean;
  /** Whether failed calls were answered with a way to recover. */
  readonly hasBacktracking: boolean;
  /** Whether every model call went to a host on this machine: a script or a local model, most likely. */
  readonly isLocalModel: boolean;
  /** Every model call, in order. */
  readonly turns: readonly StoredTurn[];
  /** Every tool call that reached a server, in order. */
  readonly calls: readonly StoredCall[];
  /** Tools as the model was offered them. */
  readonly tools: readonly StoredTool[];
}

export interface StoredTurn {
  /** What the model was given, system messages first. */
  readonly input: readonly Message[];
  /** What it said; undefined when the call failed. */
  readonly output: Message | undefined;
  /** HTTP status or kind of the failure. */
  readonly errorType: string | undefined;
  /** In the provider's own words. */
  readonly finishReason: string | undefined;
  readonly usage: TokenUsage | undefined;
  readonly model: string;
  readonly responseId: string | undefined;
  readonly durationMs: number;
}

export interface StoredCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The `CallToolResult`. */
  readonly result: Readonly<Record<string, unknown>>;
  /** Code of a JSON-RPC error, where the server answered with one. */
  readonly errorCode: number | undefined;
  readonly durationMs: number;
}

export interface StoredTool {
  readonly server: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}
