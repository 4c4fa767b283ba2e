/**
 * The parts of the MCP SDK that are touched, in the words of both its lines (v1 `@modelcontextprotocol/sdk`, v2
 * `@modelcontextprotocol/client` and `/server`). Everything is optional or `unknown` where an SDK version may differ.
 */
import type { McpPeer, McpPropagation } from './types.ts';

export type RequestId = string | number;

export interface MessageParams {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly [key: string]: unknown;
}

/** A JSON-RPC request, notification or response; the SDK's own `{method, params}` too. */
export interface McpMessage {
  readonly method?: unknown;
  readonly id?: RequestId | null | undefined;
  readonly params?: MessageParams | undefined;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown } | undefined;
}

export interface McpRequestOptions {
  readonly signal?: AbortSignal | undefined;
}

/** What an HTTP transport hands over beside a message: v1 `requestInfo`, v2 `request`. */
export interface MessageExtra {
  readonly requestInfo?: { readonly headers?: Readonly<Record<string, unknown>> | undefined } | undefined;
  readonly request?: { readonly headers?: { get(name: string): string | null } | undefined } | undefined;
}

export interface TransportLike {
  send?(message: unknown, ...rest: unknown[]): unknown;
  onmessage?: ((message: unknown, ...rest: unknown[]) => unknown) | undefined;
  readonly sessionId?: unknown;
}

export interface ProtocolLike {
  readonly _transport?: TransportLike | undefined;
  readonly _requestMessageId?: number | undefined;
  /** v2. */
  readonly _negotiatedProtocolVersion?: unknown;
  readonly _requestHandlers?: Map<string, unknown> | undefined;
  readonly _notificationHandlers?: Map<string, unknown> | undefined;
  readonly fallbackNotificationHandler?: unknown;
  /** Of a client: its own name and version, and those of its server, once it knows them. */
  readonly _clientInfo?: unknown;
  readonly _serverVersion?: unknown;
  /** Of a server: its own, and those of its client. */
  readonly _serverInfo?: unknown;
  readonly _clientVersion?: unknown;
}

/** Options with their defaults filled in. */
export interface McpSettings {
  readonly captureContent: boolean;
  readonly contentLimitChars: number;
  readonly propagate: McpPropagation | ((peer: McpPeer) => McpPropagation) | undefined;
}
