import { ReadableStream as WebStream } from 'node:stream/web';
import { apiOfPath, findProvider, PROVIDERS } from '../../wire/index.ts';
import {
  countEvents,
  exchangeUsage,
  type GoldenVersions,
  inTurns,
  isEventStream,
  listModels,
  type NetworkFault,
  noResponse,
  type ProviderExchange,
  type RequestHead,
  readAnswer,
  type Scrubber,
  type TakenExchange,
  toNetworkFault,
  toWireRequest,
  toWireResponse,
  type WireRequest,
  type WireResponse,
} from '../file/index.ts';

/** The providers' own hosts. A response of any other host may come from a script. */
const PROVIDER_HOSTS: ReadonlySet<string> = new Set(PROVIDERS.map(({ host }) => host));

/** Pieces of a stream whose positions are kept; the rest comes with the last of them. */
const MAX_ARRIVALS = 50_000;

interface Taken {
  request: WireRequest | undefined;
  response: WireResponse | undefined;
  readonly startedAt: number;
  durationMs: number;
  /** Empty where nobody takes notes. */
  readonly order: number[];
  /** Where in the sequence its head came, and how many bytes of it by then, and so on. */
  readonly arrivals: { readonly bytes: number; readonly at: number }[];
  arrived: TakenExchange['arrived'];
}

/** A request that waits for its answer. Any of the ends may be told more than once; the first counts. */
export interface OpenExchange {
  /** So many bytes of the answer have come, 0 for its head. */
  arrived(bytes: number): void;
  answered(response: ResponseHead, content: string | Uint8Array, cut?: NetworkFault): void;
  failed(error: unknown): void;
}

interface ResponseHead {
  readonly status: number;
  readonly headers: Headers;
}

interface ExchangeFacts {
  readonly isFromProvider: boolean;
  readonly sdk: GoldenVersions['sdk'];
}

/** For recordings that note when and in which order things happened. */
export interface RecordingNotes {
  /** The next position in the sequence of requests and answers. */
  next(): number;
  /** Whether so many more bytes of an answer may be held. */
  mayHold(bytes: number): boolean;
  ended(exchange: TakenExchange, facts: ExchangeFacts): void;
  /** What the reader of an answer waits for, if anything. */
  settled(): Promise<void> | undefined;
}

/**
 * Records the traffic between an SDK and a model provider. Its `fetch` replaces the global one in the SDK and passes
 * everything through unchanged.
 */
export class ModelRecorder {
  readonly #scrubber: Scrubber;
  readonly #notes: RecordingNotes | undefined;
  readonly #taken: Taken[] = [];
  #sdk: GoldenVersions['sdk'] = null;
  #onlyProviders = true;
  /** Ends the recording of each response that is being read. */
  readonly #reading = new Set<() => void>();

  constructor(scrubber: Scrubber, notes?: RecordingNotes) {
    this.#scrubber = scrubber;
    this.#notes = notes;
  }

  /** Whether every request went to a provider's own API. */
  get isFromProvider(): boolean {
    return this.#onlyProviders && this.#taken.length > 0;
  }

  get sdk(): GoldenVersions['sdk'] {
    return this.#sdk;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const sent = sentTwice(input, init);
    return await this.pass(sent.copy, sent.copy.text(), fetch(...sent.args));
  };

  /** Records the answer to a request that has been sent. @returns the response, the same for its reader. */
  async pass(head: RequestHead, text: Promise<string>, answer: Promise<Response>): Promise<Response> {
    const open = this.begin(head, text);
    let response: Response;
    try {
      response = await answer;
    } catch (error) {
      open.failed(error);
      await this.#notes?.settled();
      throw error;
    }
    let read: Uint8Array[] | undefined = [];
    let size = 0;
    const isStream = isEventStream(response.headers);
    if (isStream) open.arrived(0);
    const end = (cut?: NetworkFault): void => {
      this.#reading.delete(end);
      if (read !== undefined) open.answered(response, Buffer.concat(read), cut);
    };
    this.#reading.add(end);
    return tapped(response, {
      seen: (chunk) => {
        if (this.#notes?.mayHold(chunk.length) === false) read = undefined;
        else read?.push(chunk);
        size += chunk.length;
        if (isStream && read !== undefined) open.arrived(size);
      },
      end,
      settled: () => this.#notes?.settled(),
    });
  }

  /** Takes what was read of the responses whose readers left them, as at the end of a program. */
  endReading(): void {
    for (const end of this.#reading) end();
  }

  begin(head: RequestHead, text: string | Promise<string>): OpenExchange {
    const url = new URL(head.url);
    this.#scrubber.addHeaders(head.headers);
    this.#scrubber.add(url.searchParams.get('key') ?? undefined);
    const isFromProvider = PROVIDER_HOSTS.has(url.host) && url.protocol === 'https:';
    this.#onlyProviders &&= isFromProvider;
    const sdk = toSdk(url.pathname, head.headers);
    this.#sdk ??= sdk;
    const taken: Taken = {
      request: undefined,
      response: undefined,
      startedAt: Date.now(),
      durationMs: 0,
      order: this.#notes === undefined ? [] : [this.#notes.next()],
      arrivals: [],
      arrived: undefined,
    };
    // Notes have them once they ended.
    if (this.#notes === undefined) this.#taken.push(taken);
    const end = (): void => {
      const exchange = findExchange(taken);
      if (exchange !== undefined) this.#notes?.ended(exchange, { isFromProvider, sdk });
    };
    const asked = (body: string): void => {
      taken.request = toWireRequest(head, body);
      end();
    };
    if (typeof text === 'string') asked(text);
    else text.then(asked, () => {});
    const startedAt = performance.now();
    const answered = (response: WireResponse): void => {
      if (taken.response !== undefined) return;
      taken.response = response;
      taken.durationMs = performance.now() - startedAt;
      if (this.#notes !== undefined) taken.order.push(this.#notes.next());
      end();
    };
    return {
      answered: (response, content, cut) => {
        this.#scrubber.addHeaders(response.headers);
        const wire = toWireResponse(response, content, cut);
        if (wire.events !== undefined) taken.arrived ??= toArrivals(wire, taken.arrivals);
        answered(wire);
      },
      arrived: (bytes) => {
        if (this.#notes !== undefined && taken.response === undefined && taken.arrivals.length < MAX_ARRIVALS)
          taken.arrivals.push({ bytes, at: this.#notes.next() });
      },
      failed: (error) => answered(noResponse(error)),
    };
  }

  /** The completed exchanges, in request order. */
  exchanges(): ProviderExchange[] {
    return inTurns(this.#taken.flatMap((taken) => findExchange(taken) ?? []));
  }

  models(): string[] {
    return listModels(this.exchanges());
  }
}

function toArrivals(wire: WireResponse, arrivals: Taken['arrivals']): NonNullable<Taken['arrived']> {
  const counts = countEvents(
    wire,
    arrivals.map(({ bytes }) => bytes),
  );
  return arrivals.map(({ at }, index) => [counts[index] ?? 0, at] as const);
}

function findExchange(taken: Taken): TakenExchange | undefined {
  const { request, response, startedAt, durationMs, order, arrived = [] } = taken;
  if (request === undefined || response === undefined) return undefined;
  const [asked, answered] = order;
  // Nothing else happened before it had all come.
  const isAlone = (answered ?? 0) - (asked ?? 0) <= arrived.length + 1;
  return {
    request,
    response,
    token_usage: exchangeUsage(readAnswer(request.path, response)?.usage),
    duration_ms: Math.round(durationMs),
    ...(asked === undefined || answered === undefined
      ? {}
      : { started_at: new Date(startedAt).toISOString(), order: [asked, answered] as const }),
    ...(isAlone ? {} : { arrived }),
  };
}

type FetchArguments = Parameters<typeof fetch>;

/** A copy of a request whose body may be read, and the arguments to send it with. */
export function sentTwice(
  input: FetchArguments[0],
  init: FetchArguments[1],
): { readonly copy: Request; readonly args: FetchArguments } {
  const { signal: _, dispatcher: __, ...rest } = (init ?? {}) as RequestInit & { dispatcher?: unknown };
  const stream = findStream(rest.body);
  if (stream === undefined) {
    return { copy: new Request(input instanceof Request ? input.clone() : input, rest), args: [input, init] };
  }
  const [one, other] = stream.tee();
  const copy = new Request(input, { ...rest, body: one });
  return { copy, args: [input, { ...init, body: other }] };
}

/** A body that can be read once: a stream of the web, or, as Node allows, one of its own or another async iterable. */
function findStream(body: unknown): ReadableStream<Uint8Array> | undefined {
  if (body instanceof ReadableStream) return body;
  const isIterable = typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
  if (!isIterable) return undefined;
  return WebStream.from(body as AsyncIterable<Uint8Array>) as ReadableStream<Uint8Array>;
}

/** Observes a response while it is read. Its errors do not reach the reader. */
interface ResponseTap {
  seen(chunk: Uint8Array): void;
  /** It ended, broke off or was canceled by its reader. */
  end(cut?: NetworkFault): void;
  /** What the reader waits for before it has what was seen. */
  settled(): Promise<void> | undefined;
}

/** The same response, seen as it is read. */
export function tapped(response: Response, tap: ResponseTap): Response {
  const { body, url, redirected, type } = response;
  const tell = (work: () => void): void => {
    try {
      work();
    } catch {
      // What is recorded never stops the program.
    }
  };
  if (body === null) {
    tell(() => tap.end());
    return response;
  }
  const reader = body.getReader();
  const source = {
    async pull(controller: ReadableByteStreamController): Promise<void> {
      try {
        const { done, value } = await reader.read();
        tell(() => (done ? tap.end() : tap.seen(value)));
        const held = tap.settled();
        if (held !== undefined) await held;
        if (done) {
          controller.close();
          controller.byobRequest?.respond(0);
          return;
        }
        // A stream of bytes takes the chunk's buffer.
        controller.enqueue(new Uint8Array(value));
      } catch (error) {
        tell(() => tap.end(toNetworkFault(error)));
        await tap.settled();
        controller.error(error);
      }
    },
    async cancel(reason: unknown): Promise<void> {
      tell(() => tap.end());
      await tap.settled();
      await reader.cancel(reason);
    },
  };
  // As the bodies of `fetch` are, for readers with buffers of their own.
  const passed = new ReadableStream({ type: 'bytes', ...source });
  return Object.defineProperties(new Response(passed, response), {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
  });
}

function toSdk(path: string, headers: Headers): GoldenVersions['sdk'] {
  const api = apiOfPath(path);
  const provider = api === undefined ? undefined : findProvider(api);
  const version = provider?.sdkVersion(headers);
  return provider === undefined || version === undefined ? null : { name: provider.sdk, version };
}
