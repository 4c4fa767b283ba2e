import {
  type Attributes,
  type Context,
  INVALID_SPANID,
  type Span,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { semconv as names } from '../../base/index.ts';
import { answerText, attachConversation, type Message, type ModelMetrics } from '../../interaction/index.ts';
import { isObject, type JsonObject, type KeptValues, readList } from '../../json/index.ts';
import type { Background } from './background.ts';
import type { ModelResponse, ResponseReader } from './response-reader.ts';
import type { ServerAddress } from './server.ts';

/** How the requests of one method of an SDK are read. */
export interface RequestReader {
  /** Request attributes, beside those that identify the call; a new object each time. */
  readonly attributes: (request: JsonObject) => Attributes;
  /** The messages of the request; called only when their text is needed. */
  readonly messages: (request: JsonObject) => readonly Message[];
  /** Tool definitions in the provider's form. */
  readonly tools: (request: JsonObject) => unknown;
  /** Whether the request holds texts alone: no media, no files. */
  readonly isTextAlone: (request: JsonObject) => boolean;
  /** Whether the provider keeps the conversation: the request holds its last part. */
  readonly continues: (request: JsonObject) => boolean;
  /** Whether a model answers what is sent: the call may be one of a conversation. */
  readonly speaks: boolean;
  /** Whether the answer to this request, when it is streamed, says that it is complete. */
  readonly saysEnd: (request: JsonObject) => boolean;
  /** The provider's own code for an error it sent, if the error holds one. */
  readonly errorCode: (error: unknown) => string | undefined;
  /** Whether all that is read is in the request and its answer, which can be kept for after the call. */
  readonly canWait: boolean;
}

/** What is known of a call before it is made. */
export interface CallDescription {
  readonly operation: string;
  readonly provider: string;
  readonly model: string | undefined;
  readonly server: ServerAddress | undefined;
  readonly stream: boolean;
  /** When it began, on the clock of `performance.now()`. @defaultValue now */
  readonly startMs?: number | undefined;
  /** As it is sent. */
  readonly request: JsonObject;
  readonly as: RequestReader;
  readonly reader: ResponseReader;
  /** The SDK starts a span of its own for this call; pass it to `ModelCall.adopt`. */
  readonly hasNativeSpan?: boolean | undefined;
  /** Where the stream is in what the SDK gives. @defaultValue it is the stream */
  readonly streamIn?: ((value: unknown) => unknown) | undefined;
  /** How to tell that the answer is made in the background, where it is asked for so. */
  readonly background?: Background | undefined;
}

/** The fields of requests that hold what is said to the model, in the form of any provider. */
const SAID = [
  'messages',
  'contents',
  'input',
  'prompt',
  'system',
  'instructions',
  'systemInstruction',
  'system_instruction',
] as const;

/**
 * The request as it is now, for reading it after the call: an application goes on with its list of messages. Definitions
 * of tools are shared, since what is known of them is known by their object.
 */
export function keepRequest(request: JsonObject, values: KeptValues): JsonObject {
  const kept: Record<string, unknown> = { ...request };
  for (const name of SAID) if (kept[name] !== undefined) kept[name] = values.keep(kept[name]);
  const { config } = request;
  if (isObject(config)) kept.config = keepRequest(config, values);
  return kept;
}

export interface CallHost {
  readonly tracer: Tracer;
  readonly metrics: ModelMetrics;
  readonly captureContent: boolean;
  readonly streamIdleTimeoutMs: number;
}

/** Attributes that identify a call in its span and in every metric. */
export function toIdentity({ operation, provider, model, server }: CallDescription): Attributes {
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
export function attachCall(
  span: Span,
  { provider, model, as }: CallDescription,
  request: JsonObject,
  read: () => ModelResponse,
): void {
  let once: ModelResponse | undefined;
  const response = (): ModelResponse => {
    once ??= read();
    return once;
  };
  const tools = as.tools(request);
  attachConversation(span, {
    provider,
    messages: () => as.messages(request),
    answer: () => answerText(response().messages()),
    model: () => response().model ?? model,
    usage: () => response().usage,
    costUsd: () => response().costUsd,
    serviceTier: () => response().serviceTier,
    tools,
    isTextAlone: () => !as.continues(request) && as.isTextAlone(request),
    calledNone: () =>
      !as.continues(request) && offersFunctions(tools) && response().messages().every(holdsTextOnly),
  });
}

/** Whether all tools run in the application. Calls of tools that the provider runs may not be in its answer. */
function offersFunctions(tools: unknown): boolean {
  const all = readList(tools);
  return (
    all.length > 0 &&
    all.every(
      (tool) =>
        isObject(tool) &&
        (tool.type === 'function' ||
          tool.type === 'custom' ||
          (tool.type === undefined &&
            (tool.input_schema !== undefined ||
              isObject(tool.toolSpec) ||
              Array.isArray(tool.functionDeclarations)))),
    )
  );
}

const holdsTextOnly = ({ parts }: { readonly parts: readonly { readonly type: string }[] }) =>
  parts.every(({ type }) => type === 'text' || type === 'reasoning');

/** The attributes a span has so far, if its SDK exposes them; the API does not. */
export function findAttributes(span: Span | undefined): Readonly<Attributes> | undefined {
  return (span as { readonly attributes?: Attributes } | undefined)?.attributes;
}

/** Whether the span is a no-op: it has no id, or only repeats its parent's. */
export function isNoSpan(span: Span, parent: Context): boolean {
  const { spanId } = span.spanContext();
  return spanId === INVALID_SPANID || spanId === trace.getSpanContext(parent)?.spanId;
}

/** The attributes that a span does not have yet; its owner's values win. */
export function missingOn(span: Span, attributes: Attributes): Attributes {
  const present = findAttributes(span) ?? {};
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => present[name] === undefined));
}
