/** What a gated client does beside calling tools: its own requests, and those its server makes of it. */

import { ObservatoryError } from '../base/index.ts';
import { type JsonObject, readObject } from '../json/index.ts';
import { RequestsAtOnce } from '../mcp-client/index.ts';
import type { PolicyGate } from './gate.ts';
import { guardedRequest, mayInstruct, type RequestGuardOptions } from './guarded-request.ts';
import {
  type ListMethod,
  type RequestMethod,
  requestParams,
  SERVER_REQUESTS,
  type ServerRequestMethod,
} from './requests.ts';

type Method = (...args: unknown[]) => unknown;

const REQUESTS: Readonly<Record<string, RequestMethod>> = {
  readResource: 'resources/read',
  subscribeResource: 'resources/subscribe',
  unsubscribeResource: 'resources/unsubscribe',
  getPrompt: 'prompts/get',
  complete: 'completion/complete',
};

const LISTS: Readonly<
  Record<
    string,
    readonly [
      method: ListMethod,
      list: string,
      shows: (gate: PolicyGate, server: string, item: JsonObject) => boolean,
    ]
  >
> = {
  listResources: [
    'resources/list',
    'resources',
    (gate, server, { uri }) => gate.shows(server, 'resource', uri),
  ],
  listResourceTemplates: [
    'resources/templates/list',
    'resourceTemplates',
    (gate, server, { uriTemplate }) => gate.shows(server, 'template', uriTemplate),
  ],
  listPrompts: ['prompts/list', 'prompts', (gate, server, { name }) => gate.shows(server, 'prompt', name)],
};

/** The gated counterpart of a member of the client; undefined when the client has no such request. */
export function gatedMember(
  client: object,
  property: string,
  server: string,
  options: RequestGuardOptions,
): Method | undefined {
  const member: unknown = Reflect.get(client, property, client);
  if (typeof member !== 'function') return undefined;
  const call = (...args: unknown[]): unknown => Reflect.apply(member, client, args);
  if (property === 'getInstructions') return () => (mayInstruct(server, options) ? call() : undefined);
  const method = Object.hasOwn(REQUESTS, property) ? REQUESTS[property] : undefined;
  if (method !== undefined) {
    return async (given, ...rest) => {
      // A snapshot: what is decided is what is sent.
      const params = structuredClone(requestParams(method, given));
      return await guardedRequest(server, method, params, async () => call({ ...params }, ...rest), options);
    };
  }
  const list = Object.hasOwn(LISTS, property) ? LISTS[property] : undefined;
  if (list === undefined) return undefined;
  const [listMethod, name, shows] = list;
  return async (given, ...rest) => {
    const params = structuredClone(requestParams(listMethod, given));
    const act = async () => {
      const page = readObject(await call(given === undefined ? undefined : { ...params }, ...rest));
      const items = Array.isArray(page[name]) ? page[name] : [];
      return { ...page, [name]: items.filter((item) => shows(options.gate, server, readObject(item))) };
    };
    return await guardedRequest(server, listMethod, params, act, options);
  };
}

interface Guarded {
  server: string;
  options: RequestGuardOptions;
}

/** The clients whose handlers are guarded, with the options of their last gate. */
const guardedClients = new WeakMap<object, Guarded>();

/**
 * Guards all handlers of server requests, also those set later. Both SDKs look a handler up by its method
 * when a request comes, over the wire or in an `input_required` result, so the lookup is where it is guarded.
 * @throws ObservatoryError `INVALID_OPTION` when the client takes requests and keeps its handlers elsewhere.
 */
export function guardHandlers(client: object, server: string, options: RequestGuardOptions): void {
  const known = guardedClients.get(client);
  if (known !== undefined) {
    Object.assign(known, { server, options });
    return;
  }
  const { _requestHandlers: handlers, setRequestHandler } = client as {
    _requestHandlers?: unknown;
    setRequestHandler?: unknown;
  };
  if (setRequestHandler === undefined) return;
  if (!(handlers instanceof Map)) {
    const message = `What the server '${server}' asks of this client cannot be guarded: its SDK is not known`;
    throw new ObservatoryError('INVALID_OPTION', message);
  }
  const guarded: Guarded = { server, options };
  const atOnce = new RequestsAtOnce();
  guardedClients.set(client, guarded);
  const find = handlers.get.bind(handlers);
  handlers.get = (method: unknown): unknown => {
    const own: unknown = find(method);
    if (!SERVER_REQUESTS.has(method)) return own;
    const handler = own ?? (client as { fallbackRequestHandler?: unknown }).fallbackRequestHandler;
    if (typeof handler !== 'function') return own;
    return (request: { params?: unknown }, ...rest: unknown[]) => {
      const answer = async (): Promise<unknown> => Reflect.apply(handler, client, [request, ...rest]);
      const params = readObject(request.params);
      return atOnce.answer(params, () =>
        guardedRequest(guarded.server, method as ServerRequestMethod, params, answer, guarded.options),
      );
    };
  };
}
