import { isObject, type JsonObject, parseContainerOrKeep, readObject } from '../../json/index.ts';
import type { Message, MessageRole } from '../messages.ts';
import { parseConversation, parseMessages } from '../parse-messages.ts';
import type { SpanEventView } from '../span-view.ts';
import { answerIn, type Dialect, type DialectContent, toNonEmpty } from './dialect.ts';
import { readContentAttributes } from './semconv-attributes.ts';

/**
 * The semantic conventions up to 1.36 on span events: one event per message (`gen_ai.user.message` ...), the answer as
 * `gen_ai.choice`; before that `gen_ai.content.prompt` and `gen_ai.content.completion`; and today's
 * `gen_ai.client.inference.operation.details` where recorded on the span. The body of a message is JSON in
 * `gen_ai.event.content`, or its fields are event attributes.
 */
export const semconvEvents: Dialect = {
  name: 'semconv events',
  read: (span) => {
    if (span.events === undefined || span.events.length === 0) return undefined;
    const input: Message[] = [];
    const output: Message[] = [];
    let details: DialectContent | undefined;
    for (const event of span.events) {
      if (event.name === DETAILS_EVENT) details ??= readContentAttributes(event.attributes ?? {});
      else readEvent(event, input, output);
    }
    return { input: details?.input ?? toNonEmpty(input), output: details?.output ?? toNonEmpty(output) };
  },
};

const DETAILS_EVENT = 'gen_ai.client.inference.operation.details';

const MESSAGE_EVENTS: ReadonlyMap<string, MessageRole> = new Map([
  ['gen_ai.system.message', 'system'],
  ['gen_ai.user.message', 'user'],
  ['gen_ai.assistant.message', 'assistant'],
  ['gen_ai.tool.message', 'tool'],
]);

function readEvent(event: SpanEventView, input: Message[], output: Message[]): void {
  const attributes = event.attributes ?? {};
  const role = MESSAGE_EVENTS.get(event.name);
  if (role !== undefined) append(input, readMessage(readBody(attributes), role));
  else if (event.name === 'gen_ai.choice') {
    const body = readBody(attributes);
    const message = parseContainerOrKeep(body.message);
    const told = isObject(message) ? message : { ...body, content: message ?? body.content };
    append(output, readMessage(told, 'assistant'));
  } else if (event.name === 'gen_ai.content.prompt' && attributes['gen_ai.prompt'] !== undefined) {
    append(input, parseConversation(attributes['gen_ai.prompt']));
  } else if (event.name === 'gen_ai.content.completion' && attributes['gen_ai.completion'] !== undefined) {
    append(output, answerIn(attributes['gen_ai.completion']));
  }
}

/** Unlike spread arguments, which the stack bounds, for lists of any length. */
function append(messages: Message[], more: readonly Message[]): void {
  for (const message of more) messages.push(message);
}

function readBody(attributes: JsonObject): JsonObject {
  const body = attributes['gen_ai.event.content'];
  return body === undefined ? attributes : readObject(parseContainerOrKeep(body));
}

/** Reads a message whose content may be a list of parts as JSON text, because event attributes are never structured. */
function readMessage(body: JsonObject, role: MessageRole): Message[] {
  const content = parseContainerOrKeep(body.content);
  return parseMessages({ ...body, role, content: Array.isArray(content) ? content : body.content });
}
