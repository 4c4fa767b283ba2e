/**
 * Ids of connections: what a session is where the protocol has none. A stdio client has one for as long as it is
 * connected; the requests of one client to a stateless HTTP server, each a connection of its own, share one too.
 */
import { createHash, randomUUID } from 'node:crypto';
import { ATTR_CLIENT_NAME, ATTR_CLIENT_VERSION } from './identity.ts';
import type { MessageExtra } from './internal-types.ts';

const ids = new WeakMap<object, string>();

/** The id of a transport; the two ends of one in memory, and the channels of one pipe, have one id. */
export function idOfTransport(transport: object): string {
  const { _wire: wire, _otherTransport: other } = transport as {
    readonly _wire?: unknown;
    readonly _otherTransport?: unknown;
  };
  const shared = typeof wire === 'object' && wire !== null ? wire : transport;
  let id = ids.get(shared);
  if (id === undefined && typeof other === 'object' && other !== null) id = ids.get(other);
  id ??= randomUUID();
  ids.set(shared, id);
  return id;
}

/** Clients kept in mind, and how long one may be silent. */
const MAX_CLIENTS = 1000;
const IDLE_MS = 30 * 60_000;
/** Longest part of a header that tells clients apart. */
const MAX_HEADER_CHARS = 256;

type Party = Readonly<Record<string, string>>;

interface KnownClient {
  readonly id: string;
  readonly client: Party;
  /** When it was last seen, by `performance.now()`. */
  seenAt: number;
}

/**
 * Clients of stateless HTTP servers. They are distinguished by where they call from (address, credentials, user agent) and
 * by the name they give themselves. Before 2026-07-28 only `initialize` has the name: what else comes from the same place
 * is of the same client, if there is one alone.
 */
class StatelessClients {
  readonly #byName = new Map<string, KnownClient>();
  readonly #byPlace = new Map<string, Map<string, KnownClient>>();

  /** @param named what the request says of its client; empty where it does not. */
  find(place: string, named: Party, now: number): KnownClient {
    const name = named[ATTR_CLIENT_NAME];
    if (name !== undefined) return this.#seen(place, `${name}\n${named[ATTR_CLIENT_VERSION]}`, named, now);
    const here = [...(this.#byPlace.get(place)?.entries() ?? [])].filter(
      ([key, { seenAt }]) => key !== '' && now - seenAt < IDLE_MS,
    );
    const [only] = here;
    if (only === undefined || here.length > 1) return this.#seen(place, '', {}, now);
    return this.#seen(place, only[0], only[1].client, now);
  }

  #seen(place: string, key: string, client: Party, now: number): KnownClient {
    const full = `${place}\n${key}`;
    let known = this.#byName.get(full);
    if (known === undefined || now - known.seenAt >= IDLE_MS)
      known = { id: randomUUID(), client, seenAt: now };
    known.seenAt = now;
    this.#byName.delete(full);
    this.#byName.set(full, known);
    const here = this.#byPlace.get(place) ?? new Map<string, KnownClient>();
    this.#byPlace.set(place, here.set(key, known));
    if (this.#byName.size > MAX_CLIENTS) this.#forgetOldest();
    return known;
  }

  #forgetOldest(): void {
    for (const full of this.#byName.keys()) {
      this.#byName.delete(full);
      const [place = '', ...key] = full.split('\n');
      const here = this.#byPlace.get(place);
      here?.delete(key.join('\n'));
      if (here?.size === 0) this.#byPlace.delete(place);
      return;
    }
  }
}

const stateless = new StatelessClients();

/** Where an HTTP request came from, as Node tells it; v1 of the SDK has no headers for notifications. */
export interface Caller {
  readonly address?: string | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
}

/** The client behind a request without a session; `undefined` where nothing tells it from others. */
export function statelessClient(
  caller: Caller | undefined,
  extra: MessageExtra | undefined,
  named: Party,
): { readonly id: string; readonly client: Party } | undefined {
  const header = (name: string): string => {
    const headers = caller?.headers ?? extra?.requestInfo?.headers;
    const value = headers === undefined ? extra?.request?.headers?.get(name) : headers[name];
    return typeof value === 'string' ? value.slice(0, MAX_HEADER_CHARS) : '';
  };
  const parts = [
    caller?.address ?? '',
    header('x-forwarded-for'),
    header('authorization'),
    header('user-agent'),
  ];
  if (named[ATTR_CLIENT_NAME] === undefined && parts.every((part) => part === '')) return undefined;
  // A digest, not to keep credentials in memory.
  const place = createHash('sha256').update(parts.join('\n')).digest('base64');
  return stateless.find(place, named, performance.now());
}
