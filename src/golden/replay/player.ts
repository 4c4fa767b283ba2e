import { canonicalHash } from '../../json/index.ts';
import {
  fromWireResponse,
  type Golden,
  GoldenMismatchError,
  keptPath,
  keptRequestHeaders,
  type ProviderExchange,
  Scrubber,
  type WireRequest,
} from '../file/index.ts';
import { CassettePlayer } from './cassette-player.ts';
import { Entries } from './entries.ts';

export interface PlayerOptions {
  /** Whether tools are run for real: their results are then no part of what a request is known by. @defaultValue false */
  readonly liveTools?: boolean | undefined;
  /**
   * Whether each request just gets the next answer, if it asks the same model with as many messages: for programs whose
   * requests change in their wording. @defaultValue false
   */
  readonly inOrder?: boolean | undefined;
}

/**
 * Plays a golden: answers an SDK's requests through {@link fetch} and tool calls through {@link cassette}, from the file
 * alone. Each entry is used once. What the file does not hold fails at once with the field-level difference to the
 * nearest entry, is kept as {@link failure}, and aborts {@link signal}, since SDKs and retry policies take a failed
 * `fetch` for a network fault.
 */
export class GoldenPlayer {
  readonly #golden: Golden;
  readonly #liveTools: boolean;
  readonly #inOrder: boolean;
  readonly #exchanges = new Entries<ProviderExchange>();
  readonly #scrubber = new Scrubber();
  readonly #aborter = new AbortController();
  readonly #cassette: CassettePlayer;
  #failure: GoldenMismatchError | undefined;
  #taken = 0;

  constructor(golden: Golden, options: PlayerOptions = {}) {
    this.#golden = golden;
    this.#liveTools = options.liveTools === true;
    this.#inOrder = options.inOrder === true;
    this.#cassette = new CassettePlayer(golden, (error) => this.#miss(error));
    for (const [index, exchange] of golden.provider_responses.entries()) {
      const canonical = this.#canonical(exchange.request, index);
      this.#exchanges.add(`provider_responses[${index}]`, canonicalHash(canonical), canonical, exchange);
    }
  }

  /** What the MCP servers said. */
  get cassette(): CassettePlayer {
    return this.#cassette;
  }

  /** The first request or call the golden does not hold. */
  get failure(): GoldenMismatchError | undefined {
    return this.#failure;
  }

  /** Aborts with {@link failure}. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  /** Stands in for the global `fetch` in an SDK's options. Opens no connection. */
  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.text();
    request.signal.throwIfAborted();
    return fromWireResponse(this.#take(toWireRequest(request, text, this.#scrubber)).response);
  };

  /**
   * Call when the run is over.
   * @throws GoldenMismatchError for a miss, and for entries nobody asked for.
   */
  assertFinished(): void {
    if (this.#failure !== undefined) throw this.#failure;
    const unused = [...this.#exchanges.unused(), ...(this.#liveTools ? [] : this.#cassette.unused())];
    if (unused.length === 0) return;
    throw new GoldenMismatchError(
      `The replay of '${this.#golden.test_name}' ended and did not use all of its golden: ${unused.join(', ')}`,
    );
  }

  #take(request: WireRequest): ProviderExchange {
    const canonical = this.#canonical(request, this.#taken);
    const exchange = this.#exchanges.take(canonicalHash(canonical));
    if (exchange !== undefined) {
      this.#taken += 1;
      return exchange;
    }
    const nearest = this.#exchanges.nearest(canonical);
    const where =
      nearest === undefined
        ? 'it has no exchange with a model'
        : nearest.used
          ? `every exchange is used; the nearest was ${nearest.place}`
          : `the nearest is ${nearest.place}, which differs at`;
    throw this.#miss(
      new GoldenMismatchError(
        `The golden '${this.#golden.test_name}' has no answer to this request to ${request.path}: ${where}`,
        nearest?.differences.map((one) => ({ ...one, place: `${nearest.place}.request.${one.place}` })),
      ),
    );
  }

  /** What a request is known by. @param index its position among all requests. */
  #canonical(request: WireRequest, index: number): Record<string, unknown> {
    return this.#inOrder ? outlineOf(request, index) : canonicalRequest(request, this.#liveTools);
  }

  #miss(error: GoldenMismatchError): GoldenMismatchError {
    this.#failure ??= error;
    this.#aborter.abort(this.#failure);
    return error;
  }
}

/** A request in the form it was recorded in: what was scrubbed then is scrubbed now. */
function toWireRequest(request: Request, text: string, scrubber: Scrubber): WireRequest {
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Kept as text, as the recorder does.
  }
  return {
    method: request.method,
    path: keptPath(new URL(request.url)),
    headers: keptRequestHeaders(request.headers),
    body: scrubber.clean(body),
  };
}

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
function outlineOf(request: WireRequest, index: number): Record<string, unknown> {
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
