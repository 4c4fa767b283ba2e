import { diag } from '@opentelemetry/api';

/** The environment variable for content capture, common to all OpenTelemetry instrumentations. */
export const CAPTURE_CONTENT_VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';

/**
 * Its two vocabularies: JavaScript's `true | false` and Python's four words. `EVENT_ONLY` keeps content off spans.
 */
const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['span_only', true],
  ['span_and_event', true],
  ['event_only', false],
  ['no_content', false],
]);

/**
 * Whether prompt and answer text may become attributes of spans: the environment variable
 * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, else the option, else no. The variable takes precedence, as in
 * OpenTelemetry's instrumentations, so that an operator can switch capture off. Unknown values are ignored with a
 * warning.
 */
export function resolveCaptureContent(
  option?: boolean,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const value = env[CAPTURE_CONTENT_VARIABLE];
  if (value === undefined || value.trim() === '') return option ?? false;
  const word = WORDS.get(value.trim().toLowerCase());
  if (word !== undefined) return word;
  diag.warn(
    `mcp-observatory: ignoring ${CAPTURE_CONTENT_VARIABLE}='${value}'; expected true, false, SPAN_ONLY, EVENT_ONLY, ` +
      'SPAN_AND_EVENT or NO_CONTENT',
  );
  return option ?? false;
}
