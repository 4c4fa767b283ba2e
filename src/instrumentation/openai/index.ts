export {
  OPENAI_VERSIONS,
  OpenAIInstrumentation,
  type OpenAIInstrumentationConfig,
} from './instrumentation.ts';
