export { ANTHROPIC_VERSIONS, AnthropicInstrumentation } from './instrumentation.ts';
export type { AnthropicInstrumentationConfig } from './types.ts';
