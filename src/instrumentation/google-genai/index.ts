export { GOOGLE_GENAI_VERSIONS, GoogleGenAIInstrumentation } from './instrumentation.ts';
export type { GoogleGenAIInstrumentationConfig } from './types.ts';
