/** Whether a server's tools have to be listed again before a call. */
import { readObject } from '../json/index.ts';

type OnNotification = (notification: unknown, ...rest: unknown[]) => unknown;

interface WatchedClient {
  _onnotification?: OnNotification;
  readonly transport?: unknown;
  readonly getServerCapabilities?: () => unknown;
  readonly getProtocolEra?: () => unknown;
}

/**
 * Watches what a client receives, below the handlers of the SDK, so that a host or SDK that handles announced changes
 * itself hides none. Where announcements cannot be observed, or the server promises none, the list is never fresh.
 */
export class ListWatch {
  readonly #client: WatchedClient;
  readonly #observes: boolean;
  #isFresh = false;
  #transport: unknown;

  constructor(client: object) {
    this.#client = client;
    const receive = this.#client._onnotification;
    this.#observes = typeof receive === 'function';
    if (receive === undefined || !this.#observes) return;
    this.#client._onnotification = (notification, ...rest) => {
      if (readObject(notification).method === 'notifications/tools/list_changed') this.#isFresh = false;
      return Reflect.apply(receive, client, [notification, ...rest]);
    };
  }

  /** True when nothing was announced since {@link listing}, on the same connection. */
  get isFresh(): boolean {
    const { transport, getProtocolEra } = this.#client;
    if (!this.#observes || !this.#isFresh || transport !== this.#transport) return false;
    // Since 2026-07-28 changes are announced only to those who subscribed; whether the host did is not known here.
    if (getProtocolEra?.call(this.#client) === 'modern') return false;
    const { tools } = readObject(this.#client.getServerCapabilities?.call(this.#client));
    return readObject(tools).listChanged === true;
  }

  /** The tools are being listed now. A change announced from here on makes the list stale again. */
  listing(): void {
    this.#isFresh = true;
    this.#transport = this.#client.transport;
  }

  stale(): void {
    this.#isFresh = false;
  }
}
