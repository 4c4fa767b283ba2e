import { canonicalHash, type JsonObject } from '../../json/index.ts';
import {
  type Golden,
  GoldenMismatchError,
  type McpCall,
  type McpConnection,
  Scrubber,
} from '../file/index.ts';
import { Entries } from './entries.ts';

/** Plays what MCP servers said in a golden: each opening of a server in order, each call once. */
export class CassettePlayer {
  readonly #testName: string;
  readonly #onMiss: (error: GoldenMismatchError) => GoldenMismatchError;
  readonly #connections = new Map<string, McpConnection[]>();
  readonly #calls = new Entries<McpCall>();
  readonly #scrubber = new Scrubber();

  constructor(golden: Golden, onMiss: (error: GoldenMismatchError) => GoldenMismatchError) {
    this.#testName = golden.test_name;
    this.#onMiss = onMiss;
    const cassette = golden.mcp_cassette;
    for (const [name, server] of Object.entries(cassette?.servers ?? {})) {
      this.#connections.set(name, [...server.connections]);
    }
    for (const [index, call] of (cassette?.calls ?? []).entries()) {
      const canonical = canonicalCall(call.server, call.tool, call.arguments);
      this.#calls.add(`mcp_cassette.calls[${index}]`, canonicalHash(canonical), canonical, call);
    }
  }

  /** Names of the servers of the run. */
  get servers(): string[] {
    return [...this.#connections.keys()];
  }

  /**
   * How the next opening of a server went.
   * @throws GoldenMismatchError when it was not opened so often.
   */
  open(server: string): McpConnection {
    const connection = this.#connections.get(server)?.shift();
    if (connection !== undefined) return connection;
    const known = this.#connections.has(server) ? 'was not opened so often' : 'is not among its servers';
    throw this.#onMiss(
      new GoldenMismatchError(
        `The golden '${this.#testName}' cannot open the server "${server}": it ${known}`,
      ),
    );
  }

  /**
   * How a call ended.
   * @throws GoldenMismatchError when the golden does not hold it, or not so often.
   */
  call(server: string, tool: string, args: JsonObject): McpCall {
    const canonical = canonicalCall(server, tool, this.#scrubber.clean(args));
    const call = this.#calls.take(canonicalHash(canonical));
    if (call !== undefined) return call;
    const nearest = this.#calls.nearest(canonical);
    const where =
      nearest === undefined
        ? 'it holds no call'
        : nearest.used
          ? `every call is used; the nearest was ${nearest.place}`
          : `the nearest is ${nearest.place}, which differs at`;
    throw this.#onMiss(
      new GoldenMismatchError(
        `The golden '${this.#testName}' does not hold this call of ${server}.${tool}: ${where}`,
        nearest?.differences.map((one) => ({ ...one, place: `${nearest.place}.${one.place}` })),
      ),
    );
  }

  /** Places of what nobody asked for. */
  unused(): string[] {
    const servers = [...this.#connections].flatMap(([name, left]) =>
      left.length === 0 ? [] : [`mcp_cassette.servers.${name}.connections (${left.length} of them)`],
    );
    return [...servers, ...this.#calls.unused()];
  }
}

function canonicalCall(server: string, tool: string, args: JsonObject): JsonObject {
  return { server, tool, arguments: args };
}
