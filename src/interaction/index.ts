/**
 * Reads what a span says of a model, tool or embeddings call, in the dialect of any instrumentation, and writes it in
 * one. It may import `base` to `wire`.
 */
export { type OutputMessage, outputMessages, type RequestedToolCall } from './answer.ts';
export {
  announceTools,
  attachedTo,
  attachInteraction,
  hasInteraction,
  isEnriched,
  keepAhead,
  keepInteraction,
  markEnriched,
  mergeInteractions,
  readInteractions,
  takeInteraction,
  wantsInteraction,
} from './attached.ts';
export {
  answerContent,
  contentText,
  MAX_CONTENT_CHARS,
  promptContent,
  requestContent,
  responseContent,
  toolContent,
} from './content.ts';
export { keptAnswer, keptConversation, readContinuation, readOpening } from './continuation.ts';
export { type AttachedConversation, attachConversation } from './conversation.ts';
export { hasLongContent, readInteraction, readSpanMessages, readWritten } from './dialects/index.ts';
export { readIdByWords } from './id-by-words.ts';
export {
  COUNTED_ON_CHILDREN,
  type InteractionKind,
  interactionKind,
  isModelCall,
  isOfBatch,
  kindInWords,
  kindOfAttached,
  readSpanType,
} from './kind.ts';
export {
  acceptLateWork,
  type LateWork,
  lateCharacters,
  leaveLateWork,
  takeLateWork,
  takesLateWork,
} from './late.ts';
export { noteListedTools } from './listed-tools.ts';
export {
  answerText,
  type ConversationText,
  conversationText,
  type Message,
  type MessagePart,
  type MessageRole,
  type ToolCallResponsePart,
  withSteps,
} from './messages.ts';
export { createModelMetrics, type ModelMetrics, recordModelCall } from './model-metrics.ts';
export { readOfferedTools, type ServerToolName, type ToolOffer, toServerTool } from './offered-tools.ts';
export { findOuterCall, OuterCall, withOuterCall } from './outer-call.ts';
export { parseInstructions, parseMessages, parseRequest } from './parse-messages.ts';
export { holdsTextAlone } from './plain-request.ts';
export { normalizeProvider } from './provider.ts';
export { type ProviderResponse, readProviderResponse } from './provider-response.ts';
export { addResponse, present, responseAttributes, usageAttributes } from './response-attributes.ts';
export { hasFieldValue, isGenAiName, readTextField, says } from './scalars.ts';
export type { SpanEventView, SpanView } from './span-view.ts';
export { toolOutcome, toolResultText } from './tool-outcome.ts';
export type { CallContent, Interaction } from './types.ts';
export { isSpringAi1, isUsageColumn, readGivenUsage, readUsageBeside } from './usage.ts';
