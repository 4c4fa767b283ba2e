import { isObject, type JsonObject, numberAt, objectAt, parseOrKeep, stringAt } from '../../json/index.ts';
import { firstCode } from '../shared/index.ts';

/** An error body is small; a longer message is not searched. */
const MAX_MESSAGE = 65_536;

/**
 * The status in Google's words (`NOT_FOUND`, `RESOURCE_EXHAUSTED`), which the SDK has only inside the JSON of the
 * message: once, or twice where the error came as an event stream. Failing that the HTTP status.
 */
export function errorCode(error: unknown): string | undefined {
  const body = errorBody(stringAt(error, 'message'));
  const inner = errorBody(stringAt(body, 'message'));
  const status = numberAt(error, 'status') ?? numberAt(body, 'code');
  return firstCode(stringAt(inner, 'status'), stringAt(body, 'status')) ?? status?.toString();
}

function errorBody(message: string | undefined): JsonObject | undefined {
  if (message === undefined || message.length > MAX_MESSAGE) return undefined;
  // Early 1.x: `got status: 404 Not Found. {"error":...}`. Some endpoints give a list of one.
  const start = message.indexOf('{');
  if (start === -1) return undefined;
  const parsed = parseOrKeep(message.slice(start, message.lastIndexOf('}') + 1));
  return isObject(parsed) ? objectAt(parsed, 'error') : undefined;
}
