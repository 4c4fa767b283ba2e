/** What a user of the MCP instrumentation sees. */

import type { InstrumentationConfig } from '@opentelemetry/instrumentation';
import { either, kinds, type OptionKinds, oneOf } from '../../base/index.ts';

/** Which of the two ends of a request this process is: `client` sends it, `server` answers it. */
export type McpSide = 'client' | 'server';

/**
 * What may leave in `params._meta`: `all` (trace context and baggage), `trace` (trace context alone) or `none`.
 * The keys are those the configured propagator writes, `traceparent`, `tracestate` and `baggage` by default.
 */
export type McpPropagation = 'all' | 'trace' | 'none';

/** The other end of a connection, as far as its transport tells. */
export interface McpPeer {
  readonly transport: 'stdio' | 'http' | 'sse' | 'websocket' | 'in-memory' | 'unknown';
  /** Host name or address of an HTTP or WebSocket server; of the client on the server side, where it is known. */
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  /** A child or parent process, this very process, or a loopback address. */
  readonly local: boolean;
}

export interface McpInstrumentationConfig extends InstrumentationConfig {
  /**
   * Whether tool arguments and results, the words of error messages, and the queries of resource addresses stand on
   * spans. The variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` beats it.
   * @defaultValue false
   */
  readonly captureContent?: boolean | undefined;
  /**
   * Characters of arguments, of a result or of an error message kept when content is captured. The rest is cut
   * before anything is serialized.
   * @defaultValue 262144, as of all content
   */
  readonly contentLimitChars?: number | undefined;
  /**
   * What leaves in `params._meta`, for every peer or by peer. A function is asked once per connection; one that
   * throws means `none`. With `all` the governance fields of `govern()` go along as baggage, and those a peer sends
   * hold on this side; otherwise a peer's are ignored.
   * @defaultValue `all` for local peers, `trace` for the others
   */
  readonly propagate?: McpPropagation | ((peer: McpPeer) => McpPropagation) | undefined;
  /**
   * Different tool names that metrics keep apart; the next ones are counted as `_other`. The same limit holds for
   * prompt names and, on its own, for methods outside the protocol. Spans always carry the true name.
   * @defaultValue 200
   */
  readonly maxMetricNames?: number | undefined;
}

/** The kinds of the options of {@link McpInstrumentationConfig}. */
export const MCP_KINDS: OptionKinds<McpInstrumentationConfig> = {
  enabled: kinds.boolean,
  captureContent: kinds.boolean,
  contentLimitChars: kinds.number,
  propagate: either(oneOf('all', 'trace', 'none'), kinds.function),
  maxMetricNames: kinds.number,
};
