import type { ServerRequestHandlers } from './types.ts';

export interface ConnectionOptions {
  /** Longest time from the start of a server to its tool list, in milliseconds. @defaultValue 60000 */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a stdio server's orderly end may take before SIGKILL: a third of it for the server to end by itself when
   * its stdin ends, the rest after SIGTERM to its process group. In milliseconds. @defaultValue 1500 */
  readonly closeTimeoutMs?: number | undefined;
  /** How often a dead server may be started again, by the next call to one of its tools. @defaultValue 0 */
  readonly maxReconnects?: number | undefined;
  /** Most pages of `tools/list` read from one server. @defaultValue 64 */
  readonly maxToolPages?: number | undefined;
  /** Most tools taken from one server. @defaultValue 10000 */
  readonly maxTools?: number | undefined;
  /** Largest message a stdio server may send, in bytes; one that sends more is ended. @defaultValue 10 MiB */
  readonly maxMessageBytes?: number | undefined;
  readonly handlers?: ServerRequestHandlers | undefined;
}
