import type { JsonObject } from '../json/index.ts';
import type { Transport } from './transport.ts';
import type { ServerRequestHandlers, ToolDefinition, ToolProgress } from './types.ts';

/** The timers of a call are ours; this keeps those of the SDK out of the way (the longest a Node timer can be). */
export const NO_SDK_TIMEOUT_MS = 2 ** 31 - 1;

export interface RequestControls {
  /** Never one the caller gave: SDK v1 leaves its listener on the signal for ever, so each request has its own. */
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/** A connected client of either SDK generation, reduced to what is used here. Results are raw. */
export interface McpSession {
  readonly sdk: 'v1' | 'v2';
  readonly protocolVersion: string | undefined;
  readonly serverInfo: JsonObject | undefined;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  listTools(cursor: string | undefined, controls: RequestControls): Promise<JsonObject>;
  callTool(
    tool: ToolDefinition,
    args: JsonObject,
    meta: JsonObject | undefined,
    controls: RequestControls,
  ): Promise<JsonObject>;
  /**
   * Reads a rejection of the two calls above as a JSON-RPC error; undefined when it is none. The SDKs reject in the
   * same form when the connection ends or a signal fires, so the caller looks at those first.
   */
  protocolError(error: unknown): { code: number; message: string; data?: unknown } | undefined;
  /** True when the SDK refused an answer because of its form. */
  isInvalidResult(error: unknown): boolean;
  close(): Promise<void>;
}

export interface SessionOptions {
  readonly server: string;
  readonly handlers: ServerRequestHandlers;
  readonly signal: AbortSignal;
  readonly onToolsChanged: () => void;
  readonly onClose: () => void;
  readonly onError: (error: Error) => void;
}

export type OpenSession = (transport: Transport, options: SessionOptions) => Promise<McpSession>;
