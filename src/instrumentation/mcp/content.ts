/** Arguments and result of a tool call on its span, only where content may be captured. */
import type { Span } from '@opentelemetry/api';
import { semconv } from '../../base/index.ts';
import { boundedJson } from '../shared/index.ts';
import type { McpSettings } from './internal-types.ts';
import type { RequestOutcome } from './outcome.ts';

export function recordContent(
  span: Span,
  toolArguments: unknown,
  outcome: RequestOutcome,
  settings: McpSettings,
): void {
  if (!settings.captureContent || !span.isRecording()) return;
  const limit = settings.contentLimitChars;
  if (toolArguments !== undefined) {
    span.setAttribute(semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS, boundedJson(toolArguments, limit));
  }
  if (outcome.result !== undefined) {
    span.setAttribute(semconv.ATTR_GEN_AI_TOOL_CALL_RESULT, boundedJson(outcome.result, limit));
  }
}
