export { resolveCaptureContent } from '../../processor/index.ts';
export { observeApiPromise } from './api-promise.ts';
export { type Background, pendingIdByStatus } from './background.ts';
export {
  type CallDescription,
  type CallHost,
  findAttributes,
  type RequestReader,
} from './call-description.ts';
export { noteRetry } from './call-of-span.ts';
export { addContextSource, callContext } from './context-sources.ts';
export { errorFacts } from './error-type.ts';
export { Guard, guard } from './guard.ts';
export {
  beforeMethod,
  type HookedModule,
  hookedModules,
  keep,
  replaceExports,
  reportHooked,
} from './hooks.ts';
export { lateTracerProvider } from './late-tracer.ts';
export { askedCall } from './loose-calls.ts';
export { ModelCallSpan } from './model-call.ts';
export {
  ModelInstrumentation,
  type ModelInstrumentationConfig,
  moduleFiles,
  type PatchPoint,
} from './model-instrumentation.ts';
export { openCalls } from './open-calls.ts';
export { AnswerReader, type ModelResponse, type ResponseReader } from './response-reader.ts';
export { providerOfHost, serverAddress } from './server.ts';
