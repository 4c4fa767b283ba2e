export {
  type AssistantMessage,
  type FinishReason,
  type ImagePart,
  type ModelMessage,
  type ModelTool,
  type ProviderFailure,
  pairCallsWithResults,
  reasoningText,
  skippedResult,
  type TextPart,
  type ToolCallPart,
  type ToolChoice,
  type ToolResultPart,
  toolCallsOf,
  userText,
  visibleText,
} from '../../wire/index.ts';
export type {
  Completion,
  CompletionOptions,
  FailedAttempt,
  Provider,
  ProviderFactory,
  ProviderOptions,
  RetryPolicy,
} from './provider.ts';
export { ProviderError } from './provider-error.ts';
export { createProvider, registerProvider } from './registry.ts';
