export {
  type AssistantMessage,
  type AssistantPart,
  type ImagePart,
  type InvalidArguments,
  type Message,
  type OpaquePart,
  type ReasoningPart,
  reasoningOf,
  type SystemMessage,
  type TextPart,
  type ToolCallPart,
  type ToolMessage,
  type ToolResultPart,
  textOf,
  toolCallsOf,
  type UserMessage,
  userText,
} from './messages.ts';
export { pairCallsWithResults, skippedResult } from './pairing.ts';
export type {
  Completion,
  CompletionDelta,
  CompletionOptions,
  FailedAttempt,
  FinishReason,
  ModelTool,
  Provider,
  ProviderFactory,
  ProviderOptions,
  RetryPolicy,
  ToolChoice,
} from './provider.ts';
export { ProviderError, type ProviderFailure } from './provider-error.ts';
export { createProvider, providerNames, registerProvider } from './registry.ts';
