/** The side of a replayed program that runs for real: what is asked of it is compared with the golden. */
import { errorMessage } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import { GoldenMismatchError, type ProgramPart, type Scrubber, type TakenExchange } from '../file/index.ts';
import type { GoldenPlayer } from '../replay/index.ts';
import { type Parts, toAttempt } from './kept-parts.ts';
import type { PlayedServers } from './played-servers.ts';
import { say } from './say.ts';

/** Takes what a recorder sees of that side. What models and tools answer does not count. */
export class LiveSide implements Parts {
  readonly scrubber: Scrubber;
  /** What models answered. */
  readonly exchanges: TakenExchange[] = [];
  readonly #player: GoldenPlayer;
  readonly #servers: PlayedServers;
  /** What the golden calls the servers that the recorder names. */
  readonly #names = new Map<string, string>();
  isStopped = false;

  constructor(player: GoldenPlayer, servers: PlayedServers) {
    this.scrubber = player.scrubber;
    this.#player = player;
    this.#servers = servers;
  }

  asked(server: string, tool: string, args: JsonObject): void {
    const name = this.#names.get(server);
    if (name !== undefined) this.#player.compareCall(name, tool, args);
  }

  keep(part: ProgramPart): void {
    if ('exchange' in part) {
      this.exchanges.push(part.exchange);
      this.#player.compareRequest(part.exchange.request);
    } else if ('reached' in part) {
      const name = this.#servers.nameOf(part.reached);
      if (name !== undefined) this.#names.set(part.server, name);
      else this.#player.missed(new GoldenMismatchError(`The golden has no MCP server like ${part.server}`));
    }
  }

  settled(): undefined {}

  miss(what: string): void {
    say(what);
  }

  readonly attempt = toAttempt((error) => this.stop(error));

  stop(error: unknown): void {
    if (this.isStopped) return;
    this.isStopped = true;
    const what = `What runs for real is not compared to its end: ${errorMessage(error)}`;
    this.#player.missed(new GoldenMismatchError(what));
  }
}
