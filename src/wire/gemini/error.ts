import {
  isObject,
  type JsonObject,
  numberAt,
  objectAt,
  parseContainer,
  readList,
  stringAt,
  toText,
} from '../../json/index.ts';
import { type ErrorReport, type ErrorWords, firstCode } from '../contract/index.ts';

/** An error body is small; a longer message is not searched. */
const MAX_MESSAGE = 65_536;

export const GEMINI_ERROR_WORDS: ErrorWords = {
  retryable: ['UNAVAILABLE', 'INTERNAL', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED'],
  final: [],
  contextLength: [],
  contextLengthMessage: /exceeds the maximum number of tokens|input token count/i,
};

/**
 * Reads an error body, `{error: {code, message, status}}` or a list of one, or an error of the SDK, which has the body
 * only as JSON in its message: once, or twice where the error came as an event stream.
 */
export function readGeminiError(error: unknown): ErrorReport | undefined {
  const outer = readBody(error) ?? quotedBody(stringAt(error, 'message'));
  const inner = quotedBody(stringAt(outer, 'message')) ?? outer;
  const status = numberAt(error, 'status') ?? numberAt(outer, 'code');
  if (inner === undefined && status === undefined) return undefined;
  return {
    code: firstCode(inner?.status, outer?.status),
    message: stringAt(inner, 'message'),
    status,
    retryAfterMs: retryInfoMs(inner),
  };
}

function readBody(value: unknown): JsonObject | undefined {
  return objectAt(Array.isArray(value) ? value[0] : value, 'error');
}

function quotedBody(message: string | undefined): JsonObject | undefined {
  if (message === undefined || message.length > MAX_MESSAGE) return undefined;
  // Early 1.x: `got status: 404 Not Found. {"error":...}`. Some endpoints give a list of one.
  const start = message.indexOf('{');
  if (start === -1) return undefined;
  const parsed = parseContainer(message.slice(start, message.lastIndexOf('}') + 1));
  return isObject(parsed) ? readBody(parsed) : undefined;
}

/** `google.rpc.RetryInfo` among the details: `{"retryDelay": "34.5s"}`. */
function retryInfoMs(error: JsonObject | undefined): number | undefined {
  for (const detail of readList(error?.details)) {
    const delay = toText(isObject(detail) ? detail.retryDelay : undefined);
    if (delay === undefined || !delay.endsWith('s')) continue;
    const seconds = Number(delay.slice(0, -1));
    if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1_000;
  }
  return undefined;
}
