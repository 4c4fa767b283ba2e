import { snakeKeys } from '../base/index.ts';
import type { GhostResult } from './result.ts';

/** The wire form of {@link GhostResult}: `schema/ghost-result.schema.json` describes it. */
export interface WireGhostResult {
  readonly success: boolean;
  readonly final_result: unknown;
  readonly summary: string;
  readonly tool_chain: readonly Readonly<Record<string, unknown>>[];
  readonly conversation_history: readonly Readonly<Record<string, unknown>>[];
  readonly errors: readonly Readonly<Record<string, unknown>>[];
  readonly reasoning_trail: readonly string[];
  readonly plan: string | null;
  /** Absent when nothing can be undone. */
  readonly undo?: readonly Readonly<Record<string, unknown>>[];
  readonly execution_metadata: Readonly<Record<string, unknown>>;
}

/** The snake_case form of a result. Names are converted level by level; arguments and results are never walked. */
export function toWire(result: GhostResult): WireGhostResult {
  const { executionMetadata: metadata, undo, ...rest } = result;
  return {
    ...snakeKeys(rest),
    tool_chain: result.toolChain.map((entry) => snakeKeys(entry)),
    conversation_history: result.conversationHistory.map((entry) => snakeKeys(entry)),
    errors: result.errors.map((error) => snakeKeys(error)),
    ...(undo.length === 0 ? {} : { undo: undo.map((one) => snakeKeys(one)) }),
    execution_metadata: {
      ...snakeKeys(metadata),
      token_usage: snakeKeys(metadata.tokenUsage),
      tool_performance: metadata.toolPerformance.map((figures) => snakeKeys(figures)),
      quarantined_tools: metadata.quarantinedTools.map((tool) => snakeKeys(tool)),
    },
  };
}
