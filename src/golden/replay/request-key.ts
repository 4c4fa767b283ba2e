import type { WireRequest } from '../file/index.ts';

/** The end of a path that names an API, whatever host, version or gateway stands before it. */
const API_ENDS = ['/chat/completions', '/responses', '/messages', '/models/'] as const;

const RESULT_LEFT_OUT = '[tool result]';

/**
 * What two requests must have in common to be the same: method, API and body. Host, version prefix and headers are no
 * part of it, so that a recording made through a gateway plays for the API itself.
 *
 * @param liveTools leaves out what tools returned, which differs from run to run when they are run for real.
 */
export function canonicalRequest(request: WireRequest, liveTools: boolean): Record<string, unknown> {
  const { body } = request;
  return {
    method: request.method,
    api: apiOf(request.path),
    body: liveTools ? withoutResults(body) : body,
  };
}

/** What requests have in common that take the same place in a conversation, whatever their wording. */
export function outlineOf(request: WireRequest, index: number): Record<string, unknown> {
  const body = (request.body ?? {}) as Record<string, unknown>;
  const messages = body.messages ?? body.contents ?? body.input;
  return {
    api: apiOf(request.path),
    index,
    model: body.model,
    messages: Array.isArray(messages) ? messages.length : 1,
  };
}

function apiOf(path: string): string {
  const start = Math.max(...API_ENDS.map((end) => path.lastIndexOf(end)));
  return start === -1 ? path : path.slice(start + 1);
}

/** The body with the content of each tool result replaced; ids and names stay, and so do errors. */
function withoutResults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutResults);
  if (typeof value !== 'object' || value === null) return value;
  const record = value as Record<string, unknown>;
  if (record.role === 'tool' || record.type === 'tool_result') return { ...record, content: RESULT_LEFT_OUT };
  if (record.type === 'function_call_output') return { ...record, output: RESULT_LEFT_OUT };
  return Object.fromEntries(
    Object.entries(record).map(([key, member]) => {
      if (key !== 'functionResponse') return [key, withoutResults(member)];
      return [key, { ...(member as object), response: RESULT_LEFT_OUT }];
    }),
  );
}
