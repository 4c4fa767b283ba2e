export {
  GOOGLE_GENAI_VERSIONS,
  GoogleGenAIInstrumentation,
  type GoogleGenAIInstrumentationConfig,
} from './instrumentation.ts';
