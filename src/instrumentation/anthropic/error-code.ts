import { numberAt, objectAt, parseOrKeep, stringAt } from '../../json/index.ts';
import { firstCode } from '../shared/index.ts';

/** An error event is small; a longer message is not searched. */
const MAX_MESSAGE = 65_536;

/** The type in the error envelope, e.g. `overloaded_error`; the SDK has it as `type` since 0.100 or so. */
export function errorCode(error: unknown): string | undefined {
  const envelope = objectAt(error, 'error') ?? quotedEnvelope(error);
  return firstCode(stringAt(objectAt(envelope, 'error'), 'type'), stringAt(error, 'type'));
}

/** Before 0.50 an error event in a stream became a connection error, whose message is the event. */
function quotedEnvelope(error: unknown): unknown {
  const message = stringAt(error, 'message');
  if (numberAt(error, 'status') !== undefined || message === undefined) return undefined;
  return message.startsWith('{') && message.length <= MAX_MESSAGE ? parseOrKeep(message) : undefined;
}
