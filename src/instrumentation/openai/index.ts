export { ChatReader } from './chat-reader.ts';
export { OPENAI_VERSIONS, OpenAIInstrumentation } from './instrumentation.ts';
export { ResponsesReader } from './responses-reader.ts';
export type { OpenAIInstrumentationConfig } from './types.ts';
