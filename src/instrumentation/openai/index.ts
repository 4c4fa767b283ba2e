export { OPENAI_VERSIONS, OpenAIInstrumentation } from './instrumentation.ts';
export type { OpenAIInstrumentationConfig } from './types.ts';
