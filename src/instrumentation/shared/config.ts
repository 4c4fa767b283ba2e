import type { InstrumentationConfig } from '@opentelemetry/instrumentation';

/** Options every model instrumentation has. */
export interface ModelInstrumentationConfig extends InstrumentationConfig {
  /**
   * Whether prompts, answers, tool arguments and error messages may stand on spans, as `gen_ai.input.messages`,
   * `gen_ai.output.messages`, `gen_ai.tool.definitions` and the status description. Hashes and scores do not need it.
   * The variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` wins over it.
   * @default false
   */
  captureContent?: boolean | undefined;
  /**
   * How long a stream may go without being read, in milliseconds, before its span ends as `abandoned`. A stream the
   * garbage collector takes ends its span at once; this is the bound for one that is kept and never read.
   * @default 600000
   */
  streamIdleTimeoutMs?: number | undefined;
}
