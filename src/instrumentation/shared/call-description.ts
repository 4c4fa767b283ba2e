import type { Attributes, Span, Tracer } from '@opentelemetry/api';
import { semconv as names } from '../../base/index.ts';
import { answerText, attachConversation, type Message, type ModelMetrics } from '../../interaction/index.ts';
import { isObject, listOf } from '../../json/index.ts';
import type { ModelResponse, ResponseReader } from './response-reader.ts';
import type { ServerAddress } from './server.ts';

/** What is known of a call before it is made. */
export interface CallDescription {
  readonly operation: string;
  readonly provider: string;
  readonly model: string | undefined;
  readonly server: ServerAddress | undefined;
  readonly stream: boolean;
  /** When it began, on the clock of `performance.now()`. @defaultValue now */
  readonly startMs?: number | undefined;
  /** Further request attributes, set at the start. */
  readonly attributes: Attributes;
  readonly reader: ResponseReader;
  /** The messages of the request; called only when their text is needed. */
  readonly messages: () => readonly Message[];
  /** The request as it is sent, of an API with conversations. */
  readonly request?: unknown;
  /** Tool definitions in the provider's form. */
  readonly tools?: unknown;
  /** Whether the request holds texts alone: no media, no files. */
  readonly isTextAlone?: (() => boolean) | undefined;
  /** The provider keeps the conversation: `messages` holds its last part. */
  readonly continues?: boolean | undefined;
  /** The SDK starts a span of its own for this call; pass it to `ModelCall.adopt`. */
  readonly hasNativeSpan?: boolean | undefined;
  /** Whether a stream that ended without an error was complete, for providers that mark the end. */
  readonly isWhole?: ((response: ModelResponse) => boolean) | undefined;
  /** The provider's own code for an error it sent, if the error holds one. */
  readonly errorCode: (error: unknown) => string | undefined;
}

/** What a call needs of its instrumentation. */
export interface CallHost {
  readonly tracer: Tracer;
  readonly metrics: ModelMetrics;
  readonly captureContent: boolean;
  readonly streamIdleTimeoutMs: number;
}

/** Attributes that identify a call in its span and in every metric. */
export function identityOf({ operation, provider, model, server }: CallDescription): Attributes {
  const identity: Attributes = {
    [names.ATTR_GEN_AI_OPERATION_NAME]: operation,
    [names.ATTR_GEN_AI_PROVIDER_NAME]: provider,
  };
  if (model !== undefined) identity[names.ATTR_GEN_AI_REQUEST_MODEL] = model;
  if (server !== undefined) {
    identity[names.ATTR_SERVER_ADDRESS] = server.address;
    if (server.port !== undefined) identity[names.ATTR_SERVER_PORT] = server.port;
  }
  return identity;
}

/** Passes the conversation to the processor; see `attachConversation`. */
export function attachCall(span: Span, call: CallDescription, read: () => ModelResponse): void {
  let once: ModelResponse | undefined;
  const response = (): ModelResponse => {
    once ??= read();
    return once;
  };
  attachConversation(span, {
    provider: call.provider,
    messages: call.messages,
    answer: () => answerText(response().messages()),
    model: () => response().model ?? call.model,
    usage: () => response().usage,
    costUsd: () => response().costUsd,
    tools: call.tools,
    isTextAlone: () => call.continues !== true && call.isTextAlone?.() === true,
    calledNone: () =>
      call.continues !== true && offersFunctions(call.tools) && response().messages().every(holdsTextOnly),
  });
}

/** Whether all tools run in the application. Calls of tools that the provider runs may not be in its answer. */
function offersFunctions(tools: unknown): boolean {
  const all = listOf(tools);
  return (
    all.length > 0 &&
    all.every(
      (tool) =>
        isObject(tool) &&
        (tool.type === 'function' ||
          tool.type === 'custom' ||
          (tool.type === undefined &&
            (tool.input_schema !== undefined || Array.isArray(tool.functionDeclarations)))),
    )
  );
}

const holdsTextOnly = ({ parts }: { readonly parts: readonly { readonly type: string }[] }) =>
  parts.every(({ type }) => type === 'text' || type === 'reasoning');

/** The attributes a span has so far, if its SDK exposes them; the API does not. */
export function attributesOf(span: Span | undefined): Readonly<Attributes> | undefined {
  return (span as { readonly attributes?: Attributes } | undefined)?.attributes;
}
