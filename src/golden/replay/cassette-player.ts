import { ObservatoryError } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import { type OpenLink, RecordedTimeout, type ServerLink, SessionExpired } from '../../mcp-client/index.ts';
import {
  FORMS,
  type Golden,
  GoldenMismatchError,
  type Matcher,
  type McpCall,
  type McpConnection,
  type Scrubber,
} from '../file/index.ts';
import { Entries, type Found } from './matching.ts';

/** Plays the MCP servers of a golden: their connections in order, each call once. */
export class CassettePlayer {
  readonly #testName: string;
  readonly #onMiss: (error: GoldenMismatchError) => GoldenMismatchError;
  readonly #connections = new Map<string, McpConnection[]>();
  readonly #calls: Entries<McpCall>;
  readonly #offers: Entries<McpCall>;
  readonly #scrubber: Scrubber;

  /**
   * @param scrubber knows secrets of the replaying program, which the recording may have lost
   * @param learned as of `Entries`
   */
  constructor(
    golden: Golden,
    onMiss: (error: GoldenMismatchError) => GoldenMismatchError,
    scrubber: Scrubber,
    learned?: Record<string, Matcher>,
  ) {
    this.#scrubber = scrubber;
    this.#testName = golden.test_name;
    this.#onMiss = onMiss;
    this.#calls = new Entries('', golden.comparison.matchers, learned);
    this.#offers = new Entries('', golden.comparison.matchers, undefined);
    const { servers = {}, calls = [], offers } = golden.mcp_cassette ?? {};
    for (const [name, { connections }] of Object.entries(servers))
      this.#connections.set(name, offers === undefined ? [...connections] : []);
    const add = (to: Entries<McpCall>, place: string, call: McpCall): void =>
      to.add(place, this.#canonical(call.server, call.tool, call.arguments), call);
    for (const [index, call] of calls.entries()) add(this.#calls, `mcp_cassette.calls[${index}]`, call);
    for (const [index, call] of (offers ?? []).entries())
      add(this.#offers, `mcp_cassette.offers[${index}]`, call);
  }

  get servers(): string[] {
    return [...this.#connections.keys()];
  }

  /**
   * The next recorded connection to a server.
   * @throws GoldenMismatchError if there are no more.
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
   * The recorded outcome of a call.
   * @throws GoldenMismatchError if the golden has no such call, or no more of them.
   */
  call(server: string, tool: string, args: JsonObject): McpCall {
    return this.find(server, tool, args).value;
  }

  /** As {@link call}, with its place in the golden. */
  find(server: string, tool: string, args: JsonObject): Found<McpCall> {
    const canonical = this.#canonical(server, tool, args);
    const withoutKnown = this.#scrubber.cleanKnown(canonical);
    const call = this.#calls.take(canonical, withoutKnown);
    if (call !== undefined) return call;
    const what = `The golden '${this.#testName}' does not hold this call of ${server}.${tool}`;
    throw this.#onMiss(this.#calls.miss(withoutKnown, what, 'call'));
  }

  /**
   * What a server answers to a request for what it offers, however often and in whatever order it is made.
   * @returns undefined if the golden has no such request
   */
  offer(server: string, method: string, args: JsonObject) {
    return this.#offers.takeOrRepeat(this.#canonical(server, method, args));
  }

  /** The key by which calls are matched, without secrets on either side. */
  #canonical(server: string, tool: string, args: unknown): Record<string, unknown> {
    return { server, tool, arguments: FORMS.clean(args) };
  }

  /** Whether the golden has an answer of a server to a tool or method. */
  holds(server: string, tool: string): boolean {
    return this.#calls.some((call) => call.server === server && call.tool === tool);
  }

  /** Whether a server sent anything after it had answered. */
  sentLater(server: string): boolean {
    const isLater = (call: McpCall): boolean => call.server === server && call.sent_after !== undefined;
    return this.#calls.some(isLater) || this.#offers.some(isLater);
  }

  get played(): number {
    return this.#calls.used().length;
  }

  /** Places of the entries that were not used. */
  unused(): string[] {
    const servers = [...this.#connections].flatMap(([name, left]) =>
      left.length === 0 ? [] : [`mcp_cassette.servers.${name}.connections (${left.length} of them)`],
    );
    return [...servers, ...this.#calls.unused()];
  }
}

/** Opens no server, but plays those of a golden. */
export function playedLink(cassette: CassettePlayer): OpenLink {
  return async (config, _options, _signal, hooks) => {
    const server = config.name;
    const connection = cassette.open(server);
    if (connection.outcome === 'failed') throw new ObservatoryError('SERVER_UNAVAILABLE', connection.error);
    let lost: string | undefined;
    let stderr = '';
    let lists = 0;
    const link: ServerLink = {
      pid: undefined,
      stderr: () => stderr,
      lost: () => lost,
      close: () => Promise.resolve(),
      session: {
        // Of a program it is not known, and nothing of a replay depends on it.
        sdk: connection.sdk ?? 'v1',
        protocolVersion: connection.protocol_version ?? undefined,
        serverInfo: connection.server_info ?? undefined,
        capabilities: connection.capabilities,
        instructions: connection.instructions ?? undefined,
        listTools: () => {
          const list = connection.tool_lists[lists] ?? connection.tool_lists.at(-1) ?? [];
          lists += 1;
          return Promise.resolve({ tools: list });
        },
        callTool: async (tool, args) => {
          const call = cassette.call(server, tool.name, args);
          if (call.tools_changed === true) hooks.onToolsChanged();
          const died = call.server_died;
          if (died !== undefined) {
            lost = died.cause;
            stderr = died.stderr;
            // The result of a server that answered before it went away is delivered first.
            if (call.outcome === 'result') setImmediate(() => hooks.onLost(link, died.cause));
            else hooks.onLost(link, died.cause);
          }
          return findEnd(call);
        },
        readResource: async (uri) => findEnd(cassette.call(server, 'resources/read', { uri })),
        protocolError: (error) => (error instanceof PlayedError ? error.answer : undefined),
        close: () => Promise.resolve(),
      },
    };
    return link;
  };
}

/** A recorded JSON-RPC error. */
class PlayedError extends Error {
  readonly answer: NonNullable<McpCall['error']>;

  constructor(answer: NonNullable<McpCall['error']>) {
    super(answer.message);
    this.answer = answer;
  }
}

function findEnd(call: McpCall): JsonObject {
  switch (call.outcome) {
    case 'result':
      return call.result ?? {};
    case 'error':
      throw new PlayedError(call.error ?? { code: -32603, message: 'unknown' });
    case 'timeout':
      throw new RecordedTimeout(call.message);
    default:
      throw call.session_expired === true ? new SessionExpired(call.message) : new Error(call.message);
  }
}
