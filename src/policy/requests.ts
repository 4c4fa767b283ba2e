/**
 * What a policy says about everything of MCP but tool calls: what is asked of a server (resources, prompts, completions,
 * its instructions) and what the server asks of the host (sampling, elicitation, roots). What no word allows is denied.
 */
import { isObject, type JsonObject, readObject } from '../json/index.ts';
import { type Refusal, refusal } from './decision.ts';
import type { PolicyDocument, ServerDocument } from './policy-file.ts';
import { isPlainUri, MAX_URI, namesUser, uriMatcher } from './resource-uri.ts';

/** The methods that are decided beside `tools/call`; `instructions` is the text of the handshake, not a method. */
export type RequestMethod =
  | 'resources/read'
  | 'resources/subscribe'
  | 'resources/unsubscribe'
  | 'prompts/get'
  | 'completion/complete'
  | 'instructions'
  | ListMethod
  | ServerRequestMethod;

/** Lists of what may be asked for; they show only that. */
export type ListMethod = 'resources/list' | 'resources/templates/list' | 'prompts/list';

/** What a server may ask of the host. */
export type ServerRequestMethod = 'sampling/createMessage' | 'elicitation/create' | 'roots/list';

export const SERVER_REQUESTS: ReadonlySet<unknown> = new Set<ServerRequestMethod>([
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
]);

const LIST_METHODS: ReadonlySet<string> = new Set<ListMethod>([
  'resources/list',
  'resources/templates/list',
  'prompts/list',
]);

const WORDS = {
  'completion/complete': 'completions',
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
  instructions: 'instructions',
} as const;

/** All methods, for those who are asked about one. */
export const REQUEST_METHODS: readonly string[] = [
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/get',
  ...LIST_METHODS,
  ...Object.keys(WORDS),
];

/** The word of a server's entry in the policy that decides about a method. */
export function formatWord(method: string): string {
  if (method in WORDS) return WORDS[method as keyof typeof WORDS];
  return method.startsWith('prompts/') ? 'prompts' : 'resources';
}

interface Granted {
  readonly document: ServerDocument;
  matches(uri: string): boolean;
}

/** The words of a policy about each server, compiled. */
export class RequestRules {
  readonly #servers = new Map<string, Granted>();

  /** @throws ObservatoryError `POLICY_INVALID` when a pattern cannot be used. */
  constructor(servers: PolicyDocument['servers'] = {}) {
    for (const [server, document] of Object.entries(servers)) {
      this.#servers.set(server, { document, matches: uriMatcher(server, document.resources ?? []) });
    }
  }

  /** Why a request is denied; undefined when the policy allows it. */
  refusalOf(server: string, method: RequestMethod, args: JsonObject): Refusal | undefined {
    // A list is asked for whatever the policy says, and shows what it allows.
    if (LIST_METHODS.has(method)) return undefined;
    const granted = this.#servers.get(server);
    const denied = refusal('request_not_allowed', `The policy does not allow ${method} of ${server}`);
    if (granted === undefined) return denied;
    if (method === 'prompts/get') return this.#showsPrompt(server, args.name) ? undefined : denied;
    if (!(method in WORDS)) return this.#uriRefusal(granted, args.uri, denied);
    if (granted.document[WORDS[method as keyof typeof WORDS]] !== 'allow') return denied;
    return method === 'completion/complete' && !this.#mayComplete(server, args.ref) ? denied : undefined;
  }

  shows(server: string, kind: 'resource' | 'template' | 'prompt', name: unknown): boolean {
    if (kind === 'prompt') return this.#showsPrompt(server, name);
    return kind === 'resource' ? this.#showsResource(server, name) : this.#showsTemplate(server, name);
  }

  #showsPrompt(server: string, name: unknown): boolean {
    return typeof name === 'string' && this.#servers.get(server)?.document.prompts?.includes(name) === true;
  }

  #showsResource(server: string, uri: unknown): boolean {
    return typeof uri === 'string' && this.#servers.get(server)?.matches(uri) === true;
  }

  /** A template is shown when what it gives with plain values could be read. */
  #showsTemplate(server: string, template: unknown): boolean {
    if (typeof template !== 'string' || template.length > MAX_URI) return false;
    return this.#showsResource(server, template.replace(/\{[^{}]*\}/g, 'x'));
  }

  #uriRefusal(granted: Granted, uri: unknown, denied: Refusal): Refusal | undefined {
    if (typeof uri !== 'string') return denied;
    if (granted.matches(uri)) return undefined;
    if (isPlainUri(uri) && !namesUser(uri)) return denied;
    return refusal(
      'resource_uri_refused',
      'Readers may take the URI for another: it is not in its normal form, or names a user',
    );
  }

  #mayComplete(server: string, ref: unknown): boolean {
    if (!isObject(ref)) return false;
    return ref.type === 'ref/prompt'
      ? this.#showsPrompt(server, ref.name)
      : this.#showsTemplate(server, ref.uri);
  }
}

/** What is sent of a request of the host: the members its method has. */
export function requestParams(method: RequestMethod, params: unknown): JsonObject {
  const { uri, name, arguments: args, ref, argument, context, cursor } = readObject(params);
  if (LIST_METHODS.has(method)) return defined({ cursor });
  if (method === 'prompts/get') return defined({ name, arguments: args });
  if (method === 'completion/complete') return defined({ ref, argument, context });
  return defined({ uri });
}

function defined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
