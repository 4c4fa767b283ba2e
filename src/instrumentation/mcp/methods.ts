/** The methods of the protocol, and what each is about. */
import { semconv } from '../../base/index.ts';
import { redactText } from '../../json/index.ts';
import type { MessageParams } from './internal-types.ts';

export const TOOLS_CALL = 'tools/call';
export const TOOLS_LIST = 'tools/list';
export const INITIALIZE = 'initialize';
export const DISCOVER = 'server/discover';
export const CANCELLED = 'notifications/cancelled';
export const PROGRESS = 'notifications/progress';
export const LISTEN = 'subscriptions/listen';

/** Methods of every protocol revision to 2026-07-28: the closed set that metrics keep apart without a limit. */
export const PROTOCOL_METHODS: ReadonlySet<string> = new Set([
  INITIALIZE,
  'ping',
  DISCOVER,
  'tools/list',
  TOOLS_CALL,
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'resources/templates/list',
  'roots/list',
  'sampling/createMessage',
  'elicitation/create',
  'completion/complete',
  'logging/setLevel',
  LISTEN,
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
  'tasks/update',
  'notifications/initialized',
  CANCELLED,
  PROGRESS,
  'notifications/message',
  'notifications/elicitation/complete',
  'notifications/subscriptions/acknowledged',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/prompts/list_changed',
  'notifications/tools/list_changed',
  'notifications/roots/list_changed',
  'notifications/tasks',
  'notifications/tasks/status',
]);

const WITH_RESOURCE_URI: ReadonlySet<string> = new Set([
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'notifications/resources/updated',
]);

/** Longest name, id or address taken over from a message: peers choose them, attributes should not grow with them. */
const MAX_NAME_CHARS = 256;
const MAX_URI_CHARS = 2048;

/** The tool, prompt or resource a message is about. */
export interface Target {
  readonly tool?: string | undefined;
  readonly prompt?: string | undefined;
  readonly resourceUri?: string | undefined;
}

const NO_TARGET: Target = {};

/** @param captureContent Whether a resource's address keeps its query, which often holds arguments and keys. */
export function toTarget(method: string, params: MessageParams | undefined, captureContent: boolean): Target {
  if (params === undefined || params === null) return NO_TARGET;
  if (method === TOOLS_CALL) return { tool: readName(params.name) };
  if (method === 'prompts/get') return { prompt: readName(params.name) };
  if (WITH_RESOURCE_URI.has(method)) return { resourceUri: readUri(params.uri, captureContent) };
  if (method === 'completion/complete') {
    const ref = params.ref as { readonly type?: unknown; readonly name?: unknown } | undefined;
    if (ref?.type === 'ref/prompt') return { prompt: readName(ref.name) };
  }
  return NO_TARGET;
}

/** `{method} {tool or prompt}`; a resource address would give every resource a span name of its own. */
export function toSpanName(method: string, target: Target): string {
  const about = target.tool ?? target.prompt;
  return about === undefined ? method : `${method} ${about}`;
}

export function describeTarget(target: Target, attributes: Record<string, string>): void {
  if (target.tool !== undefined) attributes[semconv.ATTR_GEN_AI_TOOL_NAME] = target.tool;
  if (target.prompt !== undefined) attributes[semconv.ATTR_GEN_AI_PROMPT_NAME] = target.prompt;
  if (target.resourceUri !== undefined) attributes[semconv.ATTR_MCP_RESOURCE_URI] = target.resourceUri;
}

export function readName(value: unknown, limit = MAX_NAME_CHARS): string | undefined {
  return typeof value === 'string' ? clipped(value, limit) : undefined;
}

export function clipped(text: string, limit = MAX_NAME_CHARS): string {
  return text.length > limit ? text.slice(0, limit) : text;
}

/** An address without the secrets it may carry; its query and fragment, and the data of `data:`, are content. */
function readUri(value: unknown, withQuery: boolean): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (!withQuery) {
    const data = DATA_URI.exec(value);
    if (data !== null) return `data:${data[1] ?? ''},REDACTED`;
  }
  // Redacted before it is cut: half a secret would not be recognized.
  const whole = clipped(redactText(value.slice(0, 2 * MAX_URI_CHARS)), MAX_URI_CHARS);
  const uri = withoutUserInfo(whole);
  const query = withQuery ? -1 : uri.search(/[?#]/);
  return query < 0 ? uri : `${uri.slice(0, query + 1)}REDACTED`;
}

/** A resource in its own address, and its media type. */
const DATA_URI = /^\s*data:([\w.+-]{1,64}\/[\w.+-]{1,64})?/i;

function withoutUserInfo(uri: string): string {
  const start = uri.indexOf('://');
  if (start < 0) return uri;
  const authority = start + 3;
  const slash = uri.indexOf('/', authority);
  const end = slash < 0 ? uri.length : slash;
  const at = uri.lastIndexOf('@', end);
  return at < authority ? uri : `${uri.slice(0, authority)}REDACTED${uri.slice(at)}`;
}
