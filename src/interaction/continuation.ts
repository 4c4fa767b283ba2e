/** What a request says of the conversation that it goes on with, in any provider's form. */
import { isObject, listAt, objectAt, readList, sha256Hex, stringAt } from '../json/index.ts';

export interface Continuation {
  /** Names of what the provider keeps, unique there: an earlier answer, a conversation. */
  readonly kept: readonly string[];
  /** Ids of the tool calls that it answers; the names of those without an id. */
  readonly answered: readonly string[];
}

/** Messages and parts that are looked at from the end, so that a long history takes no time. */
const MAX_LOOKED_AT = 256;
const MAX_ANSWERED = 64;
/** Characters of the first message that count. */
const MAX_OPENING = 2000;

/** The messages of a request for a chat, a response, a message or contents. */
function readHistory(request: unknown): readonly unknown[] {
  if (!isObject(request)) return [];
  const { messages, input, contents } = request;
  return readList(messages ?? input ?? contents);
}

/** The name of a conversation that the provider keeps. */
export function keptConversation(request: unknown): string | undefined {
  const conversation = stringAt(request, 'conversation') ?? stringAt(objectAt(request, 'conversation'), 'id');
  return conversation === undefined ? undefined : `conversation ${conversation}`;
}

/** The name of an answer that a later request may go on from. */
export function keptAnswer(id: string): string {
  return `answer ${id}`;
}

export function readContinuation(request: unknown): Continuation {
  const previous = stringAt(request, 'previous_response_id') ?? stringAt(request, 'previous_interaction_id');
  const kept = [previous === undefined ? undefined : keptAnswer(previous), keptConversation(request)];
  return { kept: kept.filter((name) => name !== undefined), answered: answeredLast(readHistory(request)) };
}

/** The results that follow on the last answer of the model with tool calls. */
function answeredLast(history: readonly unknown[]): string[] {
  const ids: string[] = [];
  const stop = Math.max(history.length - MAX_LOOKED_AT, 0);
  for (let at = history.length - 1; at >= stop && ids.length < MAX_ANSWERED; at -= 1) {
    const found = answeredIn(history[at]);
    if (found.length > 0) ids.push(...found);
    else if (ids.length > 0) break;
  }
  return ids;
}

function answeredIn(message: unknown): string[] {
  const id = stringAt(message, 'tool_call_id') ?? readOutput(message);
  if (id !== undefined) return [id];
  const ids: string[] = [];
  for (const part of [...listAt(message, 'content'), ...listAt(message, 'parts')].slice(-MAX_ANSWERED)) {
    const answer = objectAt(part, 'functionResponse');
    const found =
      stringAt(part, 'type') === 'tool_result'
        ? stringAt(part, 'tool_use_id')
        : (stringAt(objectAt(part, 'toolResult'), 'toolUseId') ??
          stringAt(answer, 'id') ??
          stringAt(answer, 'name'));
    if (found !== undefined) ids.push(found);
  }
  return ids;
}

/** Items of the Responses API: `function_call_output`, `custom_tool_call_output`, ...; of interactions: `function_result`. */
function readOutput(item: unknown): string | undefined {
  const type = stringAt(item, 'type');
  const isOutput = type?.endsWith('_call_output') === true || type === 'function_result';
  return isOutput ? stringAt(item, 'call_id') : undefined;
}

/**
 * What tells conversations apart whose tool calls have the same ids: the first message of the user, hashed. Providers
 * without ids of their own count calls (`call_1`), or have none.
 */
export function readOpening(request: unknown): string {
  const input = isObject(request) ? (request.input ?? request.contents) : undefined;
  if (typeof input === 'string') return hashed(input);
  for (const message of readHistory(request).slice(0, MAX_LOOKED_AT)) {
    if (typeof message === 'string') return hashed(message);
    const role = stringAt(message, 'role');
    if (role !== 'user' && !(role === undefined && stringAt(message, 'text') !== undefined)) continue;
    return hashed(readText(message));
  }
  return '';
}

function readText(message: unknown): string {
  const content = stringAt(message, 'content') ?? stringAt(message, 'text');
  if (content !== undefined) return content;
  let text = '';
  for (const part of [...listAt(message, 'content'), ...listAt(message, 'parts')]) {
    text += typeof part === 'string' ? part : (stringAt(part, 'text') ?? '');
    if (text.length >= MAX_OPENING) break;
  }
  return text;
}

const hashed = (text: string): string => sha256Hex(`${text.length} ${text.slice(0, MAX_OPENING)}`);
