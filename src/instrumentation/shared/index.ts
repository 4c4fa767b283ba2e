export { resolveCaptureContent } from '../../processor/index.ts';
export { firstCode, StreamRoom, TextBuffer } from '../../wire/index.ts';
export { observeApiPromise } from './api-promise.ts';
export { beforeMethod } from './before-method.ts';
export { boundedJson } from './bounded-json.ts';
export type { CallDescription } from './call-description.ts';
export type { ModelInstrumentationConfig } from './config.ts';
export { errorFacts } from './error-type.ts';
export { Guard } from './guard.ts';
export { type HookedModule, hookedModules, reportHooked } from './hook-report.ts';
export { lateTracerProvider } from './late-tracer.ts';
export { type ModelCall, noteRetry } from './model-call.ts';
export { guard } from './model-guard.ts';
export { ModelInstrumentation, type PatchPoint } from './model-instrumentation.ts';
export { moduleFiles } from './module-files.ts';
export { openCalls } from './open-calls.ts';
export { providerOfHost } from './provider.ts';
export {
  type ModelResponse,
  type OutputMessage,
  outputMessage,
  type ResponseReader,
} from './response-reader.ts';
export { serverAddress } from './server-address.ts';
export { attributesOf } from './span-attributes.ts';
