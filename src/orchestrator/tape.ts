import type { ConnectServersOptions } from '../mcp-client/index.ts';
import type { ProviderOptions } from './providers/index.ts';
import type { GhostResult } from './result.ts';

/**
 * The seam between a run and the outside world: what records a run, or plays one back, passes it to {@link runGhost}.
 * A field that is absent leaves the real thing in place.
 */
export interface Tape {
  /** Carries the requests to the model provider. Only for providers given by name. */
  readonly fetch?: ProviderOptions['fetch'];
  /** Waits between two attempts of a model call. */
  readonly wait?: ProviderOptions['wait'];
  readonly openLink?: ConnectServersOptions['openLink'];
  /** Whether `${NAME}` in the server config is expanded. Servers that are not started need no values. @defaultValue true */
  readonly expandVariables?: boolean | undefined;
  /** Called with the result, after the servers are closed. What it throws rejects the run. */
  finish?(result: GhostResult): Promise<void>;
}
