import { checkOptions, checkValue, kinds, type OptionKinds } from '../../base/index.ts';
import { isObject, stringAt } from '../../json/index.ts';
import { isNotice } from '../../orchestrator/index.ts';
import { isImageLabel } from '../../wire/index.ts';
import {
  A_GOLDEN,
  answerTo,
  contentMembers,
  FORMS,
  fromWireResponse,
  type Golden,
  GoldenMismatchError,
  type Matcher,
  type ProviderExchange,
  Scrubber,
  toContent,
  toWireRequest,
  type WireRequest,
  type WireResponse,
} from '../file/index.ts';
import { AnswerTurns } from './answer-turns.ts';
import { CassettePlayer } from './cassette-player.ts';
import { Entries, type Found } from './matching.ts';

export interface PlayerOptions {
  /** Whether tools run for real. Requests then match whatever the tools returned. @defaultValue false */
  readonly liveTools?: boolean | undefined;
  /**
   * Answer requests in recorded order, if model and number of messages are the same. For programs whose prompts vary in
   * wording. @defaultValue false
   */
  readonly inOrder?: boolean | undefined;
  /**
   * Answer also what differs from a recorded request or call in numbers and parts of texts only, and note what these are
   * in `learned`. @defaultValue false
   */
  readonly learn?: boolean | undefined;
}

const OPTIONS: OptionKinds<PlayerOptions> = {
  liveTools: kinds.boolean,
  inOrder: kinds.boolean,
  learn: kinds.boolean,
};

/**
 * Plays a golden: answers an SDK's requests through {@link fetch} and tool calls through {@link cassette}. Each entry is
 * used once. A miss fails at once with the differences to the nearest entry. It is kept as {@link failure} and aborts
 * {@link signal}, since SDKs and retry policies would take a failed `fetch` for a network fault.
 */
export class GoldenPlayer {
  readonly #golden: Golden;
  readonly #liveTools: boolean;
  readonly #inOrder: boolean;
  readonly #exchanges: Entries<ProviderExchange>;
  /** Members of the content by which requests are matched; undefined for a golden that holds whole requests. */
  readonly #content: ReadonlySet<string> | undefined;
  /** The order of answers; of goldens that do not hold it, all at once. */
  readonly turns: AnswerTurns;
  /** Knows secrets of the replaying program, which the recording may have lost. */
  readonly scrubber = new Scrubber();
  readonly #aborter = new AbortController();
  /** The MCP side. */
  readonly cassette: CassettePlayer;
  /** Matchers for what varied, with `learn`. */
  readonly learned: Readonly<Record<string, Matcher>>;
  #failure: GoldenMismatchError | undefined;
  #taken = 0;

  /**
   * @param what for messages.
   * @throws ObservatoryError `INVALID_OPTION`
   */
  constructor(golden: Golden, options: PlayerOptions = {}, what = 'GoldenPlayer') {
    checkValue(`the golden of ${what}`, golden, A_GOLDEN);
    checkOptions(options, OPTIONS, what);
    this.#golden = golden;
    this.#liveTools = options.liveTools === true;
    this.#inOrder = options.inOrder === true;
    const learned: Record<string, Matcher> = {};
    this.learned = learned;
    const noted = options.learn === true ? learned : undefined;
    this.#exchanges = new Entries('.request', golden.comparison.matchers, noted);
    this.#content = contentMembers(golden.provider_responses);
    this.turns = new AnswerTurns(golden);
    this.cassette = new CassettePlayer(golden, (error) => this.missed(error), this.scrubber, noted);
    for (const [index, exchange] of golden.provider_responses.entries()) {
      this.#exchanges.add(
        `provider_responses[${index}]`,
        this.#canonical(FORMS.clean(exchange.request), index),
        exchange,
      );
    }
  }

  /** Whether the golden holds a request to a path, whatever its body. */
  knows(method: string, path: string): boolean {
    return this.#exchanges.some(
      ({ request }) => request.method === method && request.path.split('?', 1)[0] === path,
    );
  }

  get played(): readonly ProviderExchange[] {
    return this.#exchanges.used();
  }

  /** The first miss. */
  get failure(): GoldenMismatchError | undefined {
    return this.#failure;
  }

  /** Aborts with {@link failure}. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  /** Replaces the global `fetch` in an SDK's options. Opens no connection. */
  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const wire = toWireRequest(request, await request.text());
    this.scrubber.addHeaders(request.headers);
    this.scrubber.addEnvironment(process.env);
    request.signal.throwIfAborted();
    const { place, value } = this.#take(FORMS.clean(wire));
    this.turns.asked(place, value);
    // That of a `Request` no longer follows it once the request is collected.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const response = this.#content === undefined ? value.response : this.#answerTo(wire, value);
    return await fromWireResponse(response, signal, this.turns.paceOf(value));
  };

  /**
   * Call at the end of the run.
   * @throws GoldenMismatchError for a miss, and for unused entries.
   */
  assertFinished(): void {
    if (this.#failure !== undefined) throw this.#failure;
    const unused = [...this.#exchanges.unused(), ...(this.#liveTools ? [] : this.cassette.unused())];
    if (unused.length === 0) return;
    throw new GoldenMismatchError(
      `The replay of '${this.#golden.test_name}' ended and did not use all of its golden: ${unused.join(', ')}`,
    );
  }

  #take(request: WireRequest): Found<ProviderExchange> {
    const canonical = this.#canonical(request, this.#taken);
    const withoutKnown = this.scrubber.cleanKnown(canonical);
    const exchange = this.#exchanges.take(canonical, withoutKnown);
    if (exchange !== undefined) {
      this.#taken += 1;
      return exchange;
    }
    const what = `The golden '${this.#golden.test_name}' has no answer to this request to ${request.path}`;
    throw this.missed(this.#exchanges.miss(withoutKnown, what, 'exchange'));
  }

  /** The key by which requests are matched. @param index position among all requests. */
  #canonical(request: WireRequest, index: number): Record<string, unknown> {
    if (this.#inOrder) return describeRequest(request, index);
    if (this.#content === undefined) return canonicalRequest(request, this.#liveTools);
    return { body: toContent(request, this.#content, this.#liveTools) };
  }

  #answerTo(request: WireRequest, exchange: ProviderExchange): WireResponse {
    try {
      return answerTo(request, exchange);
    } catch (error) {
      throw error instanceof GoldenMismatchError ? this.missed(error) : error;
    }
  }

  /** The run departed from the golden. */
  missed(error: GoldenMismatchError): GoldenMismatchError {
    this.#failure ??= error;
    this.#aborter.abort(this.#failure);
    return error;
  }
}

/** The part of a path that names the API, after any host, version or gateway prefix. */
const API_ENDS = ['/chat/completions', '/responses', '/messages', '/models/'] as const;

const RESULT_LEFT_OUT = '[tool result]';

/**
 * The key by which requests are matched: method, API and body. Host, version prefix and headers do not count, so that
 * a recording made through a gateway works for the API itself.
 *
 * @param liveTools leave out tool results, which vary when tools run for real.
 */
export function canonicalRequest(request: WireRequest, liveTools: boolean): Record<string, unknown> {
  const { body } = request;
  return {
    method: request.method,
    api: toApi(request.path),
    body: liveTools ? withoutResults(body) : body,
  };
}

/** The part that requests at the same position of a conversation share, apart from their wording. */
function describeRequest(request: WireRequest, index: number): Record<string, unknown> {
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
