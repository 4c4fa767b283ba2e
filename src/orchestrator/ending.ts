import type { ToolCallOutcome, ToolResult } from '../mcp-client/index.ts';
import type { FailureKind } from './backtrack.ts';
import type { ImagePart, ToolCallPart, ToolResultPart } from './providers/index.ts';
import { showResult, textPart, valueOfResult } from './tool-text.ts';

/** How one try of a call ended, in what the model is shown and the caller is given. */
export interface Ending {
  readonly success: boolean;
  readonly value: unknown;
  readonly text: string;
  readonly images: readonly ImagePart[];
  readonly seconds: number;
  readonly cached: boolean;
  readonly kind?: FailureKind | undefined;
  readonly errorCode?: number | undefined;
}

/** What the model is shown of a call. */
export function shownResult(
  call: ToolCallPart,
  text: string,
  images: readonly ImagePart[],
  isError: boolean,
): ToolResultPart {
  return {
    type: 'tool_result',
    id: call.id,
    name: call.name,
    content: [textPart(text === '' && images.length === 0 ? '(no output)' : text), ...images],
    isError,
    ...(call.idAssigned === true ? { idAssigned: true } : {}),
  };
}

/** An ending without a result: the call was not made, or nothing usable came of it. */
export function refused(kind: FailureKind, text: string, durationMs = 0): Ending {
  return { success: false, value: null, text, images: [], seconds: durationMs / 1000, cached: false, kind };
}

/** An ending with a result. */
export function finished(result: ToolResult, durationMs: number, cached: boolean): Ending {
  return {
    success: true,
    value: valueOfResult(result),
    ...showResult(result),
    seconds: durationMs / 1000,
    cached,
  };
}

/** The ending that an outcome of a server stands for. */
export function endingOf(outcome: ToolCallOutcome): Ending {
  if (outcome.kind === 'ok') return finished(outcome.result, outcome.durationMs, false);
  if (outcome.kind === 'cancelled') return refused('transport_error', outcome.message, outcome.durationMs);
  const failed = refused(outcome.kind, outcome.message, outcome.durationMs);
  if (outcome.kind === 'protocol_error') return { ...failed, errorCode: outcome.errorCode };
  if (!('result' in outcome) || outcome.result === undefined) return failed;
  const { text, images } = showResult(outcome.result);
  const shown = text === '' ? outcome.message : text;
  return { ...failed, value: valueOfResult(outcome.result), text: shown, images };
}

/** The outcome with the result a gate gave instead; an outcome without any result stays as it is. */
export function withResult(outcome: ToolCallOutcome, result: ToolResult): ToolCallOutcome {
  return 'result' in outcome && outcome.result !== undefined ? { ...outcome, result } : outcome;
}
