import { isObject, type JsonObject, parseOrKeep } from '../../json/index.ts';
import { apiOfPath, PROVIDERS } from '../../wire/index.ts';

/** The providers' own hosts, where every request counts: files, batches, lists of models. */
const HOSTS: ReadonlySet<string> = new Set(PROVIDERS.map(({ host }) => host));

/**
 * Paths of model APIs whose bodies do not tell them: Bedrock names the model in the path, media are sent as forms, and
 * Gemini's models have many methods.
 */
const PATHS: readonly RegExp[] = [
  /\/model\/[^/]{1,400}\/(?:converse|invoke)(?:-stream|-with-response-stream)?$/,
  /\/audio\/(?:transcriptions|translations|speech)$/,
  /\/images\/(?:generations|edits|variations)$/,
  /\/models\/[^/:]{1,200}:[A-Za-z]{1,60}$/,
];

/** An answer that is made in the background: it is asked for again until it is there, or stopped. */
const LATER = /\/responses\/resp_[^/]{1,200}(?:\/cancel)?$/;

/** What models there are, as the APIs of OpenAI, Anthropic, Gemini and Ollama list them; gateways do so too. */
const LISTS = /\/v1(?:alpha|beta)?\/models(?:\/[^/]{1,200})?$|\/api\/tags$/;

/** What a request to a model gives it to work on, by the names that the APIs have for it. */
const INPUTS = ['messages', 'input', 'contents', 'prompt', 'texts', 'documents'] as const;

/** Whether a request's path is that of a model API, or its host a provider's. */
export function isModelAddress(url: URL): boolean {
  return (
    HOSTS.has(url.host) ||
    LATER.test(url.pathname) ||
    LISTS.test(url.pathname) ||
    apiOfPath(url.pathname) !== undefined ||
    PATHS.some((path) => path.test(url.pathname))
  );
}

/**
 * Whether a request is one to a model, on whatever host: it is sent to a model API with something to work on, or its body
 * has the form of such a request. Another service may have a path of the same name, as `/messages`.
 */
export function isModelRequest(method: string, url: URL, body: unknown): boolean {
  if (HOSTS.has(url.host) || LATER.test(url.pathname)) return true;
  if (method !== 'POST') return method === 'GET' && LISTS.test(url.pathname);
  if (PATHS.some((path) => path.test(url.pathname))) return true;
  const hasInput = isObject(body) && INPUTS.some((name) => name in body);
  return hasInput && (typeof body.model === 'string' || apiOfPath(url.pathname) !== undefined);
}

/**
 * Whether the body of a request may tell that it is one to a model or an MCP server. Other bodies, as of uploads, are
 * left to the program: to read them takes memory, and delays the answer to a stream.
 */
export function mayConcern(...[input, init]: Parameters<typeof fetch>): boolean {
  try {
    const request = input instanceof Request ? input : undefined;
    if (isModelAddress(toUrl(input))) return true;
    if ((init?.method ?? request?.method)?.toUpperCase() !== 'POST') return false;
    if (typeof init?.body === 'string') return true;
    const type = new Headers(init?.headers ?? request?.headers).get('content-type');
    return type === null ? isBytes(init?.body) : type.includes('json');
  } catch {
    // `fetch` refuses it with its own error.
    return false;
  }
}

/** Up to the version of an API, or where Ollama's begins. */
const API_ROOT = /^.{0,400}?\/(?:v\d\w{0,10}|api)\//;
const MAX_HOSTS = 100;

/** Where models were asked. What is got there besides, as lists of files or batches, is of their API. */
export class ModelHosts {
  readonly #roots = new Set<string>();
  /** The first request to a host that was not taken for one of an API. */
  readonly #others = new Map<string, string>();

  asked(url: URL): void {
    const [root] = API_ROOT.exec(url.pathname) ?? [];
    if (root !== undefined && this.#roots.size < MAX_HOSTS) this.#roots.add(url.origin + root);
  }

  has(method: string, url: URL): boolean {
    const address = url.origin + url.pathname;
    return method === 'GET' && [...this.#roots].some((root) => address.startsWith(root));
  }

  passed(method: string, url: URL): void {
    if (method === 'GET' && !this.#others.has(url.origin) && this.#others.size < MAX_HOSTS)
      this.#others.set(url.origin, url.pathname);
  }

  /** What was got of a model's API before it was known to be one. */
  listUnseen(): string[] {
    return [...this.#others].flatMap(([origin, path]) =>
      this.has('GET', new URL(origin + path)) ? [origin + path] : [],
    );
  }
}

/** The address of a request of `fetch`. @throws TypeError */
export function toUrl(input: Parameters<typeof fetch>[0]): URL {
  return new URL(input instanceof Request ? input.url : input);
}

function isBytes(body: unknown): boolean {
  return body instanceof ArrayBuffer || ArrayBuffer.isView(body);
}

/** A JSON-RPC message of MCP, as a client or a server sends it. */
export interface PassedMessage extends JsonObject {
  readonly jsonrpc: '2.0';
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: JsonObject;
}

/** The messages in the body of an HTTP request, one or a batch; undefined if it is none of MCP's. */
export function rpcMessages(body: unknown): PassedMessage[] | undefined {
  const messages = Array.isArray(body) ? body : [body];
  return messages.length > 0 && messages.every(isRpc) ? messages : undefined;
}

function isRpc(value: unknown): value is PassedMessage {
  return isObject(value) && value.jsonrpc === '2.0';
}

/** A line that a process was sent or wrote; undefined if it is no JSON-RPC. */
export function rpcLine(line: string): PassedMessage | undefined {
  const value = parseOrKeep(line);
  return isRpc(value) ? value : undefined;
}

/** Whether a message opens a conversation with an MCP server; other protocols on JSON-RPC number their versions. */
export function isOpening({ method, params }: PassedMessage): boolean {
  if (method === 'initialize') return typeof params?.protocolVersion === 'string';
  return method === 'server/discover' || (isObject(params?._meta) && OPENED in params._meta);
}

/** In each request of MCP without sessions. */
const OPENED = 'io.modelcontextprotocol/protocolVersion';

/** Splits what arrives in chunks into lines. */
export class Lines {
  #rest = '';
  readonly #decoder = new TextDecoder();
  /** Characters of a line; what is longer is dropped. */
  limit: number;
  /** Whether a line was dropped. */
  isLost = false;

  constructor(limit = 64 * 1024 * 1024) {
    this.limit = limit;
  }

  *read(chunk: Uint8Array | string): Generator<string> {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.decode(chunk, { stream: true });
    // What is held is not searched again.
    const [first = '', ...others] = text.split('\n');
    const lines = [this.#rest + first, ...others];
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > this.limit) {
      this.#rest = '';
      this.isLost = true;
    }
    for (const line of lines) yield line.replace(/\r$/, '');
  }
}
