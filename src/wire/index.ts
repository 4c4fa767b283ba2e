/**
 * Knows the forms of the providers' APIs: writes requests, assembles streams, reads answers, usage and errors. It may
 * import `base`, `json` and `signals`.
 */
export { anthropicMessages } from './anthropic/index.ts';
export { BEDROCK_NAME, bedrockConverse, bedrockInvoke, readInvokeBody } from './bedrock/index.ts';
export {
  type Answer,
  type AnswerApi,
  type AnswerDelta,
  type AnswerStream,
  type AssistantMessage,
  type AssistantPart,
  type Attempt,
  type Choice,
  type ConnectOptions,
  errorWord,
  type FinishReason,
  firstCode,
  type HeaderReader,
  type ImagePart,
  isImageLabel,
  listToolCalls,
  type ModelMessage,
  type ModelRequest,
  type ModelTool,
  readFinishReason,
  reasoningText,
  type TextPart,
  type ToolCallPart,
  type ToolChoice,
  type ToolResultPart,
  toConventionalFinish,
  userText,
  visibleText,
  type WireApi,
  type WireConnection,
  type WireProvider,
  type WrittenAnswer,
} from './contract/index.ts';
export { AnswerError, type Fault, type ProviderFailure, readFault } from './fault.ts';
export { geminiContent, geminiInteractions } from './gemini/index.ts';
export { openAiChat, openAiMedia, openAiResponses } from './openai/index.ts';
export { apiOfPath, findProvider, PROVIDERS, readAnyAnswer } from './registry.ts';
