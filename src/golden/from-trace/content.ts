import {
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
  ATTR_GEN_AI_SYSTEM_INSTRUCTIONS,
  ObservatoryError,
} from '../../base/index.ts';
import { type Message, parseInstructions, parseMessages } from '../../interaction/index.ts';
import type { SpanRow } from './rows.ts';

/** What a run must be traced with for its spans to hold what was said. */
const HOW_TO_CAPTURE =
  'trace the run with captureContent: true (or OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true) and without redactContent, then use the trace of that run';

/** What a model call was given and gave, read from its content attributes. */
export interface CallContent {
  readonly input: readonly Message[];
  readonly output: Message | undefined;
}

/** @throws ObservatoryError `TRACE_UNUSABLE` when the content was not captured, or is not whole. */
export function contentOf(span: SpanRow): CallContent {
  const given = attributeAt(span, ATTR_GEN_AI_INPUT_MESSAGES);
  if (given === undefined) throw notCaptured(span);
  const input = [
    ...parseInstructions(attributeAt(span, ATTR_GEN_AI_SYSTEM_INSTRUCTIONS)),
    ...parseMessages(given),
  ];
  const said = attributeAt(span, ATTR_GEN_AI_OUTPUT_MESSAGES);
  if (said === undefined && !span.failed) throw notCaptured(span);
  const [output] = said === undefined ? [] : parseMessages(said, 'assistant');
  if (output !== undefined && wantsCalls(span) && output.parts.every(({ type }) => type !== 'tool_call')) {
    throw unusable(
      `The span ${span.name} (${span.spanId}) holds the texts of its messages and not their tool calls; a version of mcp-observatory that captures whole messages must trace the run`,
    );
  }
  return { input, output };
}

/** A content attribute, parsed; undefined when it is not there. */
export function attributeAt(span: SpanRow, name: string): unknown {
  const value = span.attributes[name];
  if (typeof value !== 'string') return value ?? undefined;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw unusable(
      `${name} of the span ${span.name} (${span.spanId}) was cut off by a length limit; raise OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT and trace the run again`,
    );
  }
}

/** The error for a span without content, with what to do. */
export function notCaptured(span: SpanRow): ObservatoryError {
  return unusable(`The span ${span.name} (${span.spanId}) holds no content: ${HOW_TO_CAPTURE}`);
}

/** The error for a trace that no golden can be made of. */
export function unusable(message: string): ObservatoryError {
  return new ObservatoryError('TRACE_UNUSABLE', message);
}

function wantsCalls({ finishReason }: SpanRow): boolean {
  return finishReason === 'tool_calls' || finishReason === 'tool_use';
}
