import { isObject, numberAt, objectAt, parseContainer, stringAt } from '../../json/index.ts';
import { type ErrorReport, type ErrorWords, firstCode } from '../contract/index.ts';

/** An error event is small; a longer message is not searched. */
const MAX_MESSAGE = 65_536;

export const ANTHROPIC_ERROR_WORDS: ErrorWords = {
  retryable: ['overloaded_error', 'api_error', 'rate_limit_error', 'timeout_error'],
  final: [],
  contextLength: [],
  contextLengthMessage: /prompt is too long/i,
};

/** Reads an error body, `{type: 'error', error: {type, message}}`, or an error of the SDK, which holds one. */
export function readAnthropicError(error: unknown): ErrorReport | undefined {
  if (!isObject(error)) return undefined;
  const status = numberAt(error, 'status');
  const held = objectAt(error, 'error') ?? quotedBody(error, status);
  const inner = objectAt(held, 'error') ?? held;
  if (inner === undefined && status === undefined) return undefined;
  return {
    // The SDK has the type as `type` of its errors since about 0.100.
    code: firstCode(inner?.type, error.type),
    message: stringAt(inner, 'message'),
    status,
  };
}

/** Before 0.50 an error event in a stream became a connection error whose message is the event. */
function quotedBody(error: unknown, status: number | undefined) {
  const message = stringAt(error, 'message');
  if (status !== undefined || message === undefined || message.length > MAX_MESSAGE) return undefined;
  const event = parseContainer(message);
  return isObject(event) ? event : undefined;
}
