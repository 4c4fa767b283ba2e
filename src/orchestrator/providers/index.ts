export {
  type AssistantMessage,
  type ImagePart,
  listToolCalls,
  type ModelMessage,
  type ModelTool,
  reasoningText,
  type TextPart,
  type ToolCallPart,
  type ToolChoice,
  type ToolResultPart,
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
export { ProviderError, scrubKeys } from './provider-error.ts';
export { createProvider, registerProvider } from './registry.ts';
