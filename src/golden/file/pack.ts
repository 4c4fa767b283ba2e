/**
 * Packing of exchanges in files. Each request repeats the conversation so far, and each event of
 * a stream most fields of an earlier one. The packed form holds the differences:
 *
 * - A request may be `{ from, changes, removed }`: the request of exchange `from` with a changed body.
 * - An event may be `{ event, changes, removed }`: the previous event of that name in its stream with changed data. The
 *   first event of a name is based on the first one of that name in the previous stream.
 *
 * `changes` maps places (`messages[3]`, `choices[0].delta`) to new values; `removed` lists deleted members.
 */
import { canonicalHash } from '../../json/index.ts';
import {
  applied,
  type Delta,
  deltaBetween,
  EXPANSION_LIMIT,
  type ExpansionBudget,
  measureSize,
  unreadable,
} from './delta.ts';
import type { Golden, ProviderExchange, StreamEvent, WireRequest, WireResponse } from './format.ts';

/** How many earlier requests are tried as a base; retries, plans and summaries come between turns. */
const MAX_BASES = 4;
type PackedRequest = WireRequest | (Delta & { readonly from: number });
type PackedEvent = StreamEvent | (Delta & { readonly event?: string });

interface PackedExchange extends Omit<ProviderExchange, 'request' | 'response'> {
  readonly request: PackedRequest;
  readonly response: Omit<WireResponse, 'events'> & { readonly events?: readonly PackedEvent[] };
}

/** A golden as its file holds it. */
export type PackedGolden = Omit<Golden, 'provider_responses'> & {
  readonly provider_responses: readonly PackedExchange[];
};

type DataEvent = Extract<StreamEvent, { readonly data: unknown }>;

/** Packs exchanges. Requests and events without a similar predecessor stay whole. */
export function packExchanges(exchanges: readonly ProviderExchange[]): PackedExchange[] {
  const streams = new Streams();
  return exchanges.map((exchange, index) => {
    const { events } = exchange.response;
    const request = packRequest(exchanges, index);
    if (events === undefined) return { ...exchange, request };
    streams.begin();
    const packed = events.map((event) => packEvent(event, streams));
    return { ...exchange, request, response: { ...exchange.response, events: packed } };
  });
}

/**
 * Expands packed exchanges; whole ones are returned unchanged.
 * @throws ObservatoryError `GOLDEN_UNREADABLE` for a change at a place that does not exist, or when the exchanges expand
 * to more than 64 Mi characters.
 */
export function expandExchanges(packed: readonly PackedExchange[]): ProviderExchange[] {
  const expanded: ProviderExchange[] = [];
  const streams = new Streams();
  const budget = { left: EXPANSION_LIMIT };
  for (const exchange of packed) {
    const request = expandRequest(exchange.request, expanded, budget);
    const { events, ...head } = exchange.response;
    if (events === undefined) expanded.push({ ...exchange, request, response: head });
    else {
      streams.begin();
      const whole = events.map((event) => expandEvent(event, streams, budget));
      expanded.push({ ...exchange, request, response: { ...exchange.response, events: whole } });
    }
  }
  return expanded;
}

/** The bases of packed events: for each name, the latest in this stream and the first in the previous one. */
class Streams {
  #before = new Map<string | undefined, DataEvent>();
  #first = new Map<string | undefined, DataEvent>();
  #last = new Map<string | undefined, DataEvent>();

  begin(): void {
    this.#before = this.#first;
    this.#first = new Map();
    this.#last = new Map();
  }

  baseOf(name: string | undefined): DataEvent | undefined {
    return this.#last.get(name) ?? this.#before.get(name);
  }

  add<T extends StreamEvent>(event: T): T {
    if (!('data' in event)) return event;
    if (!this.#first.has(event.event)) this.#first.set(event.event, event);
    this.#last.set(event.event, event);
    return event;
  }
}

function packRequest(exchanges: readonly ProviderExchange[], index: number): PackedRequest {
  const { request } = exchanges[index] as ProviderExchange;
  let best: PackedRequest = request;
  for (let from = Math.max(0, index - MAX_BASES); from < index; from += 1) {
    const base = exchanges[from]?.request;
    if (base === undefined || buildHead(base) !== buildHead(request)) continue;
    const delta = deltaBetween(base.body, request.body);
    // Requests are matched regardless of the order of members.
    if (delta === undefined || canonicalHash(applied(base.body, delta)) !== canonicalHash(request.body))
      continue;
    if (measureSize({ from, ...delta }) < measureSize(best)) best = { from, ...delta };
  }
  return best;
}

function packEvent(event: StreamEvent, streams: Streams): PackedEvent {
  if (!('data' in event)) return event;
  const base = streams.baseOf(event.event);
  streams.add(event);
  const delta = base === undefined ? undefined : deltaBetween(base.data, event.data);
  // A replay must reproduce the exact text, so the order of members matters.
  if (delta === undefined || JSON.stringify(applied(base?.data, delta)) !== JSON.stringify(event.data))
    return event;
  const packed = event.event === undefined ? delta : { event: event.event, ...delta };
  return measureSize(packed) < measureSize(event) ? packed : event;
}

function expandRequest(
  request: PackedRequest,
  before: readonly ProviderExchange[],
  budget: ExpansionBudget,
): WireRequest {
  if (!('from' in request)) return request;
  const base = before[request.from]?.request;
  if (base === undefined) throw unreadable(`there is no exchange ${request.from} before it`);
  return { ...base, body: applied(base.body, request, budget) };
}

function expandEvent(event: PackedEvent, streams: Streams, budget: ExpansionBudget): StreamEvent {
  if (!('changes' in event)) return streams.add(event);
  const base = streams.baseOf(event.event);
  if (base === undefined) throw unreadable(`there is no event ${event.event ?? ''} before it`);
  return streams.add({ ...base, data: applied(base.data, event, budget) });
}

function buildHead({ method, path, headers }: WireRequest): string {
  return canonicalHash({ method, path, headers });
}
