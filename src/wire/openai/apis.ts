import type { WireApi } from '../contract/index.ts';
import { defineApi } from '../contract/index.ts';
import { readChatAnswer } from './chat-answer.ts';
import { writeChatRequest } from './chat-request.ts';
import { ChatStream } from './chat-stream.ts';
import { OPENAI_ERROR_WORDS, readOpenAiError } from './errors.ts';
import { readResponsesAnswer } from './responses-answer.ts';
import { writeResponsesRequest } from './responses-request.ts';
import { ResponsesStream } from './responses-stream.ts';
import { readOpenAiUsage } from './usage.ts';
import { writeChatStream, writeResponsesStream } from './write-stream.ts';

const SHARED = {
  readUsage: readOpenAiUsage,
  readError: readOpenAiError,
  errorWords: OPENAI_ERROR_WORDS,
};

/**
 * Chat Completions, and what is read the same way: legacy completions and embeddings. Many servers imitate it; what
 * they change is read here too.
 */
export const openAiChat: WireApi = defineApi({
  ...SHARED,
  name: 'openai.chat',
  path: /\/(?:(?:chat\/)?completions|embeddings)$/,
  recognizes: (value) => Array.isArray(value.choices) || value.object === 'list',
  readAnswer: readChatAnswer,
  newStream: () => new ChatStream(),
  writeRequest: writeChatRequest,
  writeStream: writeChatStream,
});

export const openAiResponses: WireApi = defineApi({
  ...SHARED,
  name: 'openai.responses',
  path: /\/responses$/,
  recognizes: (value) => value.object === 'response' && Array.isArray(value.output),
  readAnswer: readResponsesAnswer,
  newStream: () => new ResponsesStream(),
  writeRequest: writeResponsesRequest,
  writeStream: writeResponsesStream,
});
