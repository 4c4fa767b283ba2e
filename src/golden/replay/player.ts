import { checkOptions, checkValue, kinds, type OptionKinds } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import {
  A_GOLDEN,
  answerTo,
  contentMembers,
  FORMS,
  fromWireResponse,
  type Golden,
  GoldenMismatchError,
  type LiveSides,
  type Matcher,
  OFFERS,
  type ProviderExchange,
  Scrubber,
  toContent,
  toWireRequest,
  type WireRequest,
  type WireResponse,
} from '../file/index.ts';
import { AnswerTurns } from './answer-turns.ts';
import { canonicalRequest, describeTurn } from './canonical-request.ts';
import { CassettePlayer } from './cassette-player.ts';
import { Entries, type Found } from './matching.ts';

export interface PlayerOptions {
  /** Whether tools run for real. Requests then match whatever the tools returned. @defaultValue false */
  readonly liveTools?: boolean | undefined;
  /**
   * Whether the model answers for real. Requests then match whatever it answered, and may be repeated.
   * @defaultValue false
   */
  readonly liveModel?: boolean | undefined;
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
  liveModel: kinds.boolean,
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
  readonly #live: LiveSides;
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
    this.#live = { tools: options.liveTools === true, model: options.liveModel === true };
    this.#inOrder = options.inOrder === true;
    const learned: Record<string, Matcher> = {};
    this.learned = learned;
    const noted = options.learn === true ? learned : undefined;
    this.#exchanges = new Entries('.request', golden.comparison.matchers, noted);
    this.#content = contentMembers(golden.provider_responses);
    this.turns = new AnswerTurns(golden, this.#live);
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

  /** Compares a request that the model answers for real. A miss is kept. */
  compareRequest(request: ProviderExchange['request']): void {
    const canonical = this.scrubber.cleanKnown(this.#canonical(FORMS.clean(request), this.#taken));
    const found = this.#exchanges.take(canonical, canonical);
    if (found !== undefined) {
      this.#taken += 1;
      this.turns.asked(found.place, found.value);
    } else if (!this.#exchanges.hasUsed(canonical)) {
      this.missed(this.#exchanges.miss(canonical, this.#noAnswerTo(request), 'exchange'));
    }
  }

  /** Compares a call of a tool that runs for real. A miss is kept. */
  compareCall(server: string, tool: string, args: JsonObject): void {
    if (OFFERS.has(tool)) return;
    try {
      const { place, value } = this.cassette.find(server, tool, args);
      this.turns.asked(place, value);
    } catch (error) {
      if (!(error instanceof GoldenMismatchError)) throw error;
    }
  }

  /**
   * Call at the end of the run.
   * @param callsCount whether calls that were not made are unused entries. @defaultValue unless tools run for real
   * @throws GoldenMismatchError for a miss, and for unused entries.
   */
  assertFinished(callsCount: boolean = !this.#live.tools): void {
    if (this.#failure !== undefined) throw this.#failure;
    const unused = [
      ...this.#exchanges.unused(this.#live.model),
      ...(callsCount ? this.cassette.unused() : []),
    ];
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
    throw this.missed(this.#exchanges.miss(withoutKnown, this.#noAnswerTo(request), 'exchange'));
  }

  #noAnswerTo({ path }: WireRequest): string {
    return `The golden '${this.#golden.test_name}' has no answer to this request to ${path}`;
  }

  /** The key by which requests are matched. @param index position among all requests. */
  #canonical(request: WireRequest, index: number): Record<string, unknown> {
    if (this.#inOrder) return describeTurn(request, index);
    if (this.#content === undefined) return canonicalRequest(request, this.#live);
    return { body: toContent(request, this.#content, this.#live) };
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
