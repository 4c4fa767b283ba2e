/** The key by which requests are matched. */
import { isObject, stringAt } from '../../json/index.ts';
import { isNotice } from '../../orchestrator/index.ts';
import { isImageLabel } from '../../wire/index.ts';
import type { LiveSides, WireRequest } from '../file/index.ts';

/** The part of a path that names the API, after any host, version or gateway prefix. */
const API_ENDS = ['/chat/completions', '/responses', '/messages', '/models/'] as const;

const RESULT_LEFT_OUT = '[tool result]';

/**
 * The key by which requests are matched: method, API and body. Host, version prefix and headers do not count, so that
 * a recording made through a gateway works for the API itself.
 *
 * @param live what runs for real: tool results are left out, or what the model said.
 */
export function canonicalRequest(request: WireRequest, live: LiveSides): Record<string, unknown> {
  const body = live.tools ? withoutResults(request.body) : request.body;
  return {
    method: request.method,
    api: toApi(request.path),
    body: live.model ? withoutAnswers(body) : body,
  };
}

/** The part that requests at the same position of a conversation share, apart from their wording. */
export function describeTurn(request: WireRequest, index: number): Record<string, unknown> {
  const body = (request.body ?? {}) as Record<string, unknown>;
  const messages = body.messages ?? body.contents ?? body.input;
  return {
    api: toApi(request.path),
    index,
    model: body.model,
    messages: Array.isArray(messages) ? messages.length : 1,
  };
}

function toApi(path: string): string {
  const start = Math.max(...API_ENDS.map((end) => path.lastIndexOf(end)));
  return start === -1 ? path : path.slice(start + 1);
}

/**
 * Replaces the content of each tool result, and of what the orchestrator tells the model about results. Images of
 * results, which some APIs want in a message of the user, are left out. Ids, names and errors stay.
 */
function withoutResults(value: unknown): unknown {
  if (Array.isArray(value)) return withoutImages(value).map(withoutResults).filter(isSomething);
  if (typeof value !== 'object' || value === null) return value;
  const record = value as Record<string, unknown>;
  if (record.role === 'tool' || record.type === 'tool_result') return { ...record, content: RESULT_LEFT_OUT };
  if (record.type === 'function_call_output') return { ...record, output: RESULT_LEFT_OUT };
  return Object.fromEntries(
    Object.entries(record).map(([key, member]) => {
      if (key === 'functionResponse') {
        const { parts: _images, ...response } = member as Record<string, unknown>;
        return [key, { ...response, response: RESULT_LEFT_OUT }];
      }
      if ((key === 'text' || key === 'content') && typeof member === 'string' && isNotice(member))
        return [key, RESULT_LEFT_OUT];
      return [key, withoutResults(member)];
    }),
  );
}

/** The parts of a message without the images that a result held, each of which stands after its label. */
function withoutImages(parts: readonly unknown[]): readonly unknown[] {
  let isAfterLabel = false;
  return parts.filter((part) => {
    const isImage = isAfterLabel;
    const text = stringAt(part, 'text');
    isAfterLabel = text !== undefined && isImageLabel(text);
    return !isAfterLabel && (!isImage || text !== undefined);
  });
}

/** False for a message of the user that held nothing but images of results. */
function isSomething(item: unknown): boolean {
  const isUsers = stringAt(item, 'role') === 'user';
  return !isUsers || !['content', 'parts'].some((key) => isObject(item) && isEmptyList(item[key]));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Members of a result that name the call which it answers, by an id that the model made. */
const CALL_IDS: ReadonlySet<string> = new Set(['tool_call_id', 'tool_use_id', 'toolUseId', 'call_id']);

/** Leaves out the messages and items that the model wrote, and the ids that it made. */
function withoutAnswers(body: unknown): unknown {
  if (!isObject(body)) return body;
  const { previous_response_id: _, ...request } = body;
  const without = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((item) => !isOfModel(item)).map(without);
    if (!isObject(value)) return value;
    const kept = Object.entries(value).filter(([key]) => !CALL_IDS.has(key));
    return Object.fromEntries(
      kept.map(([key, member]) => {
        if (key !== 'functionResponse' || !isObject(member)) return [key, without(member)];
        const { id: __, ...response } = member;
        return [key, response];
      }),
    );
  };
  const given = ['messages', 'contents', 'input'].filter((name) => name in request);
  return { ...request, ...Object.fromEntries(given.map((name) => [name, without(request[name])])) };
}

/** What the model wrote has its role, or, as an item of the Responses API without one, is a call or its reasoning. */
function isOfModel(item: unknown): boolean {
  const role = stringAt(item, 'role');
  if (role !== undefined) return role === 'assistant' || role === 'model';
  const type = stringAt(item, 'type');
  return type === 'reasoning' || type === 'item_reference' || type?.endsWith('_call') === true;
}
