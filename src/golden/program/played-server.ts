import { errorMessage } from '../../base/index.ts';
import { isObject, type JsonObject } from '../../json/index.ts';
import type { McpCall, McpConnection } from '../file/index.ts';
import type { GoldenPlayer } from '../replay/index.ts';
import { calledBy } from './server-tap.ts';
import type { PassedMessage } from './traffic.ts';

/** How a played server reaches its client, whatever carries the messages. */
export interface Carrier {
  send(message: JsonObject): void;
  /** The server goes away, as it did in the recording. */
  die(cause: string): void;
}

/** Something that a server sends. */
interface Step {
  /** Its position in the sequence of the run. */
  readonly at: number | undefined;
  /** @returns when the client has answered, if it must */
  send(): Promise<void> | void | undefined;
}

/** How long a client may take to answer what a server asks of it. */
const CLIENT_MS = 30_000;

/** Answers one connection to an MCP server from a golden, message by message. */
export class PlayedServer {
  readonly #player: GoldenPlayer;
  readonly #name: string;
  /** Answers of the client to what was asked of it, by the id. */
  readonly #asked = new Map<unknown, () => void>();
  /** Takes what the server sends beside its answers, over a stream of its own. */
  #listener: ((message: JsonObject) => void) | undefined;
  readonly #unheard: JsonObject[] = [];
  #connection: Extract<McpConnection, { outcome: 'ready' }> | undefined;
  #lists = 0;

  constructor(player: GoldenPlayer, name: string) {
    this.#player = player;
    this.#name = name;
  }

  /** Whether it sent anything after its answers. */
  get isTalking(): boolean {
    return this.#player.cassette.sentLater(this.#name);
  }

  listen(listener: (message: JsonObject) => void): void {
    this.#listener = listener;
    for (const message of this.#unheard.splice(0)) listener(message);
  }

  /** Sends a message for which the response of no request is open. */
  sendBeside(message: JsonObject): void {
    if (this.#listener === undefined) this.#unheard.push(message);
    else this.#listener(message);
  }

  /** Takes a message of the client. @returns when it is answered, or will never be */
  async receive(message: PassedMessage, carrier: Carrier): Promise<void> {
    const { id, method, params } = message;
    if (method === undefined) {
      this.#asked.get(id)?.();
      return;
    }
    if (id === undefined) return;
    try {
      await this.#answer(id, method, params, carrier);
    } catch (error) {
      carrier.send({ jsonrpc: '2.0', id, error: { code: -32603, message: errorMessage(error) } });
    }
  }

  async #answer(
    id: PassedMessage['id'],
    method: string,
    params: JsonObject | undefined,
    carrier: Carrier,
  ): Promise<void> {
    const reply = (result: JsonObject): void => carrier.send({ jsonrpc: '2.0', id, result });
    if (method === 'ping') return reply({});
    const [tool, args] = calledBy(method, params);
    const offer = this.#player.cassette.offer(this.#name, tool, args);
    if (offer?.isAgain === true) return this.#end(id, offer.value, carrier);
    if (offer !== undefined) return await this.#play(id, offer.value, params, carrier);
    // Earlier recordings hold connections and tool lists alone.
    if (method === 'initialize') {
      const connection = this.#opened();
      return reply({
        protocolVersion: connection.protocol_version,
        capabilities: connection.capabilities,
        serverInfo: connection.server_info,
        ...(connection.instructions === null ? {} : { instructions: connection.instructions }),
      });
    }
    if (method === 'tools/list') {
      const { tool_lists: lists } = this.#connection ?? this.#opened();
      const tools = lists[this.#lists] ?? lists.at(-1) ?? [];
      this.#lists += 1;
      return reply({ tools });
    }
    // A server that does not know it refuses it in a form of its own, which names no request.
    if (method === 'server/discover' && !this.#player.cassette.holds(this.#name, method)) {
      carrier.send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
      return;
    }
    const { place, value: call } = this.#player.cassette.find(this.#name, tool, args);
    this.#player.turns.asked(place, call);
    if (method === 'server/discover' && call.outcome === 'result') this.#opened();
    await this.#play(id, call, params, carrier);
  }

  /** Gives the recorded answer in its turn, and what the server sent beside it. */
  async #play(
    id: PassedMessage['id'],
    call: McpCall,
    params: JsonObject | undefined,
    carrier: Carrier,
  ): Promise<void> {
    if (call.tools_changed === true)
      carrier.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    const end = { at: call.order?.[1], send: () => this.#end(id, call, carrier) };
    const sent = (messages: readonly JsonObject[] = []): Step[] =>
      messages.map((message) => this.#sending(message, params, carrier));
    await this.#takeSteps([...sent(call.sent_before), end, ...sent(call.sent_after)], call.duration_ms);
    if (call.server_died !== undefined) carrier.die(call.server_died.cause);
  }

  #end(id: PassedMessage['id'], call: McpCall, carrier: Carrier): void {
    if (call.outcome === 'result') carrier.send({ jsonrpc: '2.0', id, result: call.result });
    else if (call.outcome === 'error') carrier.send({ jsonrpc: '2.0', id, error: call.error });
    else if (call.outcome === 'lost') carrier.die(call.message ?? 'lost');
    // What the client gave up, it gives up again.
  }

  /** Takes steps in their order; those that came together are given together. */
  async #takeSteps(steps: readonly Step[], durationMs: number): Promise<void> {
    const left = [...steps];
    while (left.length > 0) {
      const batch = Math.floor(left[0]?.at ?? -1);
      const next = left.findIndex(({ at = -1 }) => Math.floor(at) !== batch);
      const together = left.splice(0, next === -1 ? left.length : next);
      // What the client must answer is answered before the server goes on.
      await Promise.all(
        together.map(async ({ at, send }) => {
          if (at !== undefined) await this.#player.turns.at(at, durationMs);
          await send();
        }),
      );
    }
  }

  #opened(): Extract<McpConnection, { outcome: 'ready' }> {
    const connection = this.#player.cassette.open(this.#name);
    if (connection.outcome === 'failed') throw new Error(connection.error);
    this.#connection = connection;
    this.#lists = 0;
    return connection;
  }

  #sending(
    { at, method, id, params: sent }: JsonObject,
    params: JsonObject | undefined,
    carrier: Carrier,
  ): Step {
    const token = isObject(params?._meta) ? params._meta.progressToken : undefined;
    const isProgress = method === 'notifications/progress' && token !== undefined;
    const whole = isProgress ? { ...(sent as JsonObject), progressToken: token } : sent;
    return {
      at: typeof at === 'number' ? at : undefined,
      send: () => {
        const isAnswered = id === undefined ? undefined : this.#answerTo(id);
        carrier.send({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params: whole });
        return isAnswered;
      },
    };
  }

  #answerTo(id: unknown): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, CLIENT_MS);
      this.#asked.set(id, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
