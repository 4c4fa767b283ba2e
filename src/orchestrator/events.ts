import { diag } from '@opentelemetry/api';
import { errorMessage } from '../base/index.ts';
import type { BreakerState } from './breaker.ts';
import type { RecoveryAction, StopReason } from './result.ts';

/** What happens during a run, as it happens. `iteration` counts model turns from 1. */
export type GhostEvent =
  | { readonly type: 'run_started'; readonly provider: string; readonly model: string }
  | { readonly type: 'server_connected'; readonly server: string; readonly tools: number }
  | { readonly type: 'server_failed'; readonly server: string; readonly error: string }
  | { readonly type: 'tool_quarantined'; readonly toolName: string; readonly reason: string }
  | { readonly type: 'tools_changed'; readonly server: string; readonly tools: number }
  | { readonly type: 'plan'; readonly text: string }
  | { readonly type: 'iteration_started'; readonly iteration: number }
  | { readonly type: 'text_delta' | 'reasoning_delta'; readonly iteration: number; readonly text: string }
  | {
      readonly type: 'model_retry';
      readonly iteration: number;
      readonly error: string;
      readonly delayMs: number;
    }
  | {
      readonly type: 'tool_started';
      readonly iteration: number;
      readonly toolName: string;
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  | {
      readonly type: 'tool_progress';
      readonly toolName: string;
      readonly progress: number;
      readonly total?: number | undefined;
      readonly message?: string | undefined;
    }
  | {
      readonly type: 'tool_finished';
      readonly iteration: number;
      readonly toolName: string;
      readonly success: boolean;
      readonly error: string | null;
      /** In seconds. */
      readonly executionTime: number;
      readonly cached: boolean;
    }
  | {
      readonly type: 'backtrack';
      readonly iteration: number;
      readonly toolName: string;
      readonly strategy: RecoveryAction;
    }
  | {
      readonly type: 'breaker';
      readonly server: string;
      readonly tool: string;
      readonly state: BreakerState;
    }
  | { readonly type: 'loop'; readonly toolName: string; readonly decision: 'warn' | 'stop' }
  | {
      readonly type: 'provider_changed';
      readonly from: string;
      readonly to: string;
      readonly error: string;
    }
  | { readonly type: 'compaction'; readonly messagesBefore: number; readonly messagesAfter: number }
  | { readonly type: 'limit_reached'; readonly reason: StopReason; readonly message: string }
  | { readonly type: 'run_finished'; readonly success: boolean; readonly stopReason: StopReason };

export type EventListener = (event: GhostEvent) => void;

/** Makes a listener that cannot disturb the run: what it throws is logged once. */
export function safeListener(listener: EventListener | undefined): EventListener {
  if (listener === undefined) return () => undefined;
  let warned = false;
  return (event) => {
    try {
      listener(event);
    } catch (error) {
      if (!warned) diag.warn(`mcp-observatory: onEvent threw: ${errorMessage(error)}`);
      warned = true;
    }
  };
}
