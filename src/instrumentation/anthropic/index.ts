export { ANTHROPIC_VERSIONS, AnthropicInstrumentation } from './instrumentation.ts';
export { MessageReader } from './message-reader.ts';
export type { AnthropicInstrumentationConfig } from './types.ts';
