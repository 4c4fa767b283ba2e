import { isObject } from '../json/index.ts';
import { anthropic } from './anthropic/index.ts';
import { bedrockConverse, bedrockInvoke } from './bedrock/index.ts';
import type { Answer, AnswerApi, WireApi, WireProvider } from './contract/index.ts';
import { gemini, geminiInteractions } from './gemini/index.ts';
import { openAi } from './openai/index.ts';

/** Every provider that requests can be sent to, one folder each. */
export const PROVIDERS: readonly WireProvider[] = [openAi, anthropic, gemini];

const APIS: readonly WireApi[] = PROVIDERS.flatMap(({ apis }) => apis);

/** Every API whose answers are read, in the order in which one of an unknown API is recognized. */
const READ: readonly AnswerApi[] = [...APIS, geminiInteractions, bedrockConverse, bedrockInvoke];

/** The API a request went to, by the path of its URL; the query may follow. */
export function apiOfPath(path: string): WireApi | undefined {
  const [bare = ''] = path.split('?', 1);
  return APIS.find((api) => api.path.test(bare));
}

/** The provider whose SDK made a request to an API. */
export function findProvider(api: WireApi): WireProvider | undefined {
  return PROVIDERS.find(({ apis }) => apis.includes(api));
}

/** Reads a whole answer of any API; undefined for a value that none recognizes. */
export function readAnyAnswer(value: unknown): Answer | undefined {
  if (!isObject(value)) return undefined;
  return READ.find((api) => api.recognizes(value))?.readAnswer(value);
}
