import * as own from './semconv.ts';

export { resolveCaptureContent } from '../../processor/index.ts';
export { observeApiPromise } from './api-promise.ts';
export { boundedJson } from './bounded-json.ts';
export { attributesOf, type CallDescription } from './call-description.ts';
export { errorFacts } from './error-type.ts';
export { Guard, guard } from './guard.ts';
export { beforeMethod, type HookedModule, hookedModules, moduleFiles, reportHooked } from './hooks.ts';
export { lateTracerProvider } from './late-tracer.ts';
export { type ModelCallSpan, noteRetry } from './model-call.ts';
export {
  ModelInstrumentation,
  type ModelInstrumentationConfig,
  type PatchPoint,
} from './model-instrumentation.ts';
export { openCalls } from './open-calls.ts';
export { AnswerReader, type ModelResponse, type ResponseReader } from './response-reader.ts';
export { providerOfHost, serverAddress } from './server.ts';
export { own };
