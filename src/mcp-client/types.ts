import type { JsonObject } from '../json/index.ts';

/** A tool as `tools/list` gives it. Fields this package does not know are kept. */
export interface ToolDefinition extends JsonObject {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
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
 * How a call ended, each end apart from the others:
 * - `ok`: the tool answered.
 * - `tool_error`: the tool answered with `isError`; the model may try again in another way.
 * - `invalid_output`: the answer breaks the protocol's result form or the tool's own `outputSchema`.
 * - `protocol_error`: the server answered with a JSON-RPC error (`errorCode`).
 * - `transport_error`: no answer, because the server is gone or cannot be reached.
 * - `timeout`: no answer in time; the server has been told that the call is cancelled.
 * - `cancelled`: the caller's signal fired; the server has been told.
 */
export type ToolCallOutcome = { readonly durationMs: number } & (
  | { readonly kind: 'ok'; readonly result: ToolResult }
  | { readonly kind: 'tool_error'; readonly result: ToolResult; readonly message: string }
  | {
      readonly kind: 'invalid_output';
      readonly result?: ToolResult | undefined;
      readonly message: string;
      readonly violations: readonly string[];
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
  /** Longest silence, in milliseconds; progress of the server starts it anew. @defaultValue 30000 */
  readonly timeoutMs?: number | undefined;
  /** Longest time a call may take whatever its progress, in milliseconds. @defaultValue 600000 */
  readonly maxTotalTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Sent as `_meta` of the request, for instance `traceparent`. */
  readonly meta?: JsonObject | undefined;
}

/** What a server may ask of its client. A capability is announced only where its handler is given. */
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
