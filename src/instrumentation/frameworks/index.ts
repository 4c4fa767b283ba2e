export {
  FRAMEWORK_VERSIONS,
  FrameworkInstrumentation,
  type FrameworkInstrumentationConfig,
} from './instrumentation.ts';
