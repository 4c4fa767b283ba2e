/** Who is at the ends of a connection, in their own words: any peer can give itself any name. */
import type { McpMessage, ProtocolLike } from './internal-types.ts';
import { clipped, INITIALIZE } from './methods.ts';

export const ATTR_CLIENT_NAME = 'observatory.mcp.client.name';
export const ATTR_CLIENT_VERSION = 'observatory.mcp.client.version';
export const ATTR_SERVER_NAME = 'observatory.mcp.server.name';
export const ATTR_SERVER_VERSION = 'observatory.mcp.server.version';

/** From 2026-07-28 on, each request names its client and each result its server. */
const META_CLIENT = 'io.modelcontextprotocol/clientInfo';
const META_SERVER = 'io.modelcontextprotocol/serverInfo';

/** Attributes of one end; none where it has not said who it is. */
type Party = Readonly<Record<string, string>>;

const UNKNOWN: Party = Object.freeze({});

/** Name and version of client and server, as attributes, and where they were read, not to read them again. */
export class Identity {
  #client: Party = UNKNOWN;
  #server: Party = UNKNOWN;
  #clientSource: unknown;
  #serverSource: unknown;
  #both: Party = UNKNOWN;

  /** What is known of both; another object after each change. */
  get attributes(): Party {
    return this.#both;
  }

  get client(): Party {
    return this.#client;
  }

  /** What the SDK's `Client` or `Server` knows: one end is its own, the other it was told. */
  readProtocol(protocol: ProtocolLike): void {
    this.#learnClient(protocol._clientInfo ?? protocol._clientVersion);
    this.#learnServer(protocol._serverInfo ?? protocol._serverVersion);
  }

  /** A request or notification, on its way to the server or arriving there. */
  readRequest({ method, params }: McpMessage): void {
    if (typeof params !== 'object' || params === null) return;
    this.#learnClient(method === INITIALIZE ? params.clientInfo : params._meta?.[META_CLIENT]);
  }

  readResult(method: string, result: unknown): void {
    if (typeof result !== 'object' || result === null) return;
    const { serverInfo, _meta } = result as { readonly serverInfo?: unknown; readonly _meta?: unknown };
    if (method === INITIALIZE) this.#learnServer(serverInfo);
    else if (typeof _meta === 'object' && _meta !== null)
      this.#learnServer((_meta as Readonly<Record<string, unknown>>)[META_SERVER]);
  }

  /** The client of an earlier request, where this one does not say whose it is. */
  assume(client: Party): void {
    if (this.#client !== UNKNOWN || isSame(client, UNKNOWN)) return;
    this.#client = client;
    this.#both = { ...client, ...this.#server };
  }

  #learnClient(info: unknown): void {
    if (info === undefined || info === this.#clientSource) return;
    this.#clientSource = info;
    const client = readParty(info, ATTR_CLIENT_NAME, ATTR_CLIENT_VERSION);
    if (client === undefined || isSame(client, this.#client)) return;
    this.#client = client;
    this.#both = { ...client, ...this.#server };
  }

  #learnServer(info: unknown): void {
    if (info === undefined || info === this.#serverSource) return;
    this.#serverSource = info;
    const server = readParty(info, ATTR_SERVER_NAME, ATTR_SERVER_VERSION);
    if (server === undefined || isSame(server, this.#server)) return;
    this.#server = server;
    this.#both = { ...this.#client, ...server };
  }
}

function readParty(info: unknown, nameKey: string, versionKey: string): Party | undefined {
  if (typeof info !== 'object' || info === null) return undefined;
  const { name, version } = info as { readonly name?: unknown; readonly version?: unknown };
  if (typeof name !== 'string' || name === '') return undefined;
  const party: Record<string, string> = { [nameKey]: clipped(name) };
  if (typeof version === 'string' && version !== '') party[versionKey] = clipped(version);
  return party;
}

function isSame(a: Party, b: Party): boolean {
  for (const key in a) if (a[key] !== b[key]) return false;
  for (const key in b) if (a[key] !== b[key]) return false;
  return true;
}
