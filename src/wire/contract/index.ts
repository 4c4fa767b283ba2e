export { argumentsForHistory, checkArguments } from './arguments.ts';
export { findApiKey, findHost, resolveApiKey } from './connect.ts';
export {
  type AssistantMessage,
  type AssistantPart,
  type ImagePart,
  listToolCalls,
  type ModelMessage,
  type ReasoningPart,
  reasoningText,
  type TextPart,
  type ToolCallPart,
  type ToolMessage,
  type ToolResultPart,
  userText,
  visibleText,
} from './conversation.ts';
export { defineApi } from './define-api.ts';
export { errorWord, firstCode } from './error-code.ts';
export { withExactAnswers } from './exact-answers.ts';
export { readFinishReason, toConventionalFinish } from './finish-words.ts';
export { fitMessages, imageLabel, isImageLabel } from './media.ts';
export { pairCallsWithResults, wireCallId } from './pairing.ts';
export { StreamRoom, TextBuffer } from './text-buffer.ts';
export type {
  Answer,
  AnswerApi,
  AnswerDelta,
  AnswerStream,
  Attempt,
  Choice,
  ConnectOptions,
  ErrorReport,
  ErrorWords,
  FinishReason,
  HeaderReader,
  ModelRequest,
  ModelTool,
  ToolChoice,
  WireApi,
  WireConnection,
  WireProvider,
  WrittenAnswer,
} from './types.ts';
