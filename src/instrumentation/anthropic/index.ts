export {
  ANTHROPIC_VERSIONS,
  AnthropicInstrumentation,
  type AnthropicInstrumentationConfig,
} from './instrumentation.ts';
