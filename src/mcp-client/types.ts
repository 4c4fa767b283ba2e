import type { JsonObject } from '../json/index.ts';
import type { ToolListLimits } from './tool-list.ts';

/** A tool as `tools/list` gives it. Servers are not trusted: every field but the name may hold anything. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
  readonly _meta?: unknown;
}

/** A tool whose definition can be used: the known fields have their types, the others are kept as they are. */
export interface CallableTool extends ToolDefinition, JsonObject {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  /** Any JSON value, not only an object, since MCP 2026-07-28; `true` and `false` are schemas too. */
  readonly outputSchema?: JsonObject | boolean | undefined;
  readonly annotations?: ToolAnnotations | undefined;
}

/** Hints of the server about a tool; hints, not promises. */
export interface ToolAnnotations extends JsonObject {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

/** A listed tool that cannot be used, and why. */
export interface RejectedTool {
  readonly name: string;
  readonly reason: string;
}

/** One block of a tool's result. `data` and `blob` are base64. `unknown` holds blocks of a type not known here. */
export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource_link';
      readonly uri: string;
      readonly name: string;
      readonly title?: string | undefined;
      readonly description?: string | undefined;
      readonly mimeType?: string | undefined;
    }
  | {
      readonly type: 'resource';
      readonly uri: string;
      readonly mimeType?: string | undefined;
      readonly text?: string | undefined;
      readonly blob?: string | undefined;
    }
  | { readonly type: 'unknown'; readonly block: unknown };

/** What a tool returned, read from the wire. */
export interface ToolResult {
  readonly content: readonly ToolContent[];
  readonly structuredContent?: unknown;
  readonly meta?: JsonObject | undefined;
}

/**
 * How a call ended:
 * - `ok`: the tool answered.
 * - `tool_error`: the tool answered with `isError`; the model may try again in another way.
 * - `invalid_output`: the answer breaks the protocol's result form. `mcpGhost` without a gate also says so of one that
 *   breaks the tool's own `outputSchema`; under a gate its contract decides.
 * - `protocol_error`: the server answered with a JSON-RPC error (`errorCode`).
 * - `transport_error`: no answer, because the server is gone or cannot be reached.
 * - `timeout`: no answer in time; the call was cancelled at the server.
 * - `cancelled`: the caller's signal fired; the call was cancelled at the server.
 *
 * `raw` is the result as the server sent it.
 */
export type ToolCallOutcome = { readonly durationMs: number } & (
  | { readonly kind: 'ok'; readonly result: ToolResult; readonly raw: JsonObject }
  | {
      readonly kind: 'tool_error';
      readonly result: ToolResult;
      readonly message: string;
      readonly raw: JsonObject;
    }
  | {
      readonly kind: 'invalid_output';
      readonly result?: ToolResult | undefined;
      readonly message: string;
      readonly violations: readonly string[];
      /** Absent when an SDK refused the answer. */
      readonly raw?: JsonObject | undefined;
    }
  | {
      readonly kind: 'protocol_error';
      readonly message: string;
      readonly errorCode: number;
      readonly data?: unknown;
    }
  | { readonly kind: 'transport_error'; readonly message: string; readonly cause?: unknown }
  | {
      readonly kind: 'timeout';
      readonly message: string;
      readonly limit: 'idle' | 'total';
      readonly limitMs: number;
    }
  | { readonly kind: 'cancelled'; readonly message: string; readonly reason?: unknown }
);

export interface ToolProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface ToolCallOptions {
  /** Longest silence, in milliseconds; a progress notification restarts it. @defaultValue 30000 */
  readonly timeoutMs?: number | undefined;
  /** Longest time for the whole call, progress or not, in milliseconds. @defaultValue 600000 */
  readonly maxTotalTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Sent as `_meta` of the request, for instance `traceparent`. */
  readonly meta?: JsonObject | undefined;
}

/** Handlers for requests of a server to its client. A capability is announced only when its handler is set. */
export interface ServerRequestHandlers {
  /** Answers `elicitation/create`: `params` asks for a form (`requestedSchema`) or to open a URL. */
  readonly onElicitation?:
    | ((params: JsonObject, context: ServerRequestContext) => Promise<ElicitationAnswer> | ElicitationAnswer)
    | undefined;
  /** Answers `sampling/createMessage` with `{ role, content, model, stopReason? }`. */
  readonly onSampling?:
    | ((params: JsonObject, context: ServerRequestContext) => Promise<JsonObject> | JsonObject)
    | undefined;
  /** Answers `roots/list`; each root is a `file://` URI. */
  readonly roots?: readonly { readonly uri: string; readonly name?: string | undefined }[] | undefined;
}

/**
 * Decides about a request of a server before a handler sees it, and about the answer before it is sent. A rejection is
 * sent as an error.
 */
export type ServerRequestGuard = (
  server: string,
  method: string,
  params: JsonObject,
  answer: () => Promise<JsonObject>,
) => Promise<JsonObject>;

export interface ServerRequestContext {
  /** Name of the server in the config. */
  readonly server: string;
  /** Fires when the server cancels its request or goes away. */
  readonly signal: AbortSignal;
}

export type ElicitationAnswer =
  | {
      readonly action: 'accept';
      readonly content?: Record<string, string | number | boolean | string[]> | undefined;
    }
  | { readonly action: 'decline' | 'cancel' };

export interface ConnectionOptions extends ToolListLimits {
  /** Longest time from the start of a server to its tool list, in milliseconds. @defaultValue 60000 */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * How long closing a stdio server may take before SIGKILL, in milliseconds: a third of it for the server to exit
   * when its stdin ends, the rest after SIGTERM to its process group. @defaultValue 1500
   */
  readonly closeTimeoutMs?: number | undefined;
  /** How often a dead server may be restarted, by the next call or listing that needs it. @defaultValue 0 */
  readonly maxReconnects?: number | undefined;
  /** Largest message a server may send, in bytes; the connection to one that sends more is closed. @defaultValue 10 MiB */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Most JSON values in a message a server may send: one for each element of an array, three for each member of an
   * object (nine in a message's upper levels: result, `_meta`, structured content), and one more for 256 bytes of text,
   * 32 escapes or 21 bytes of numbers. The connection to one that sends more is closed before the message is parsed,
   * which takes up to 0.4 ms per 1,000 values and holds the event loop. @defaultValue 100000
   */
  readonly maxMessageValues?: number | undefined;
  readonly handlers?: ServerRequestHandlers | undefined;
  /** Checks the requests of servers before `handlers` see them. @defaultValue every request is answered */
  readonly guard?: ServerRequestGuard | undefined;
}
