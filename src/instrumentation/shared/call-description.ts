import type { Attributes, Span, Tracer } from '@opentelemetry/api';
import { semconv as names } from '../../base/index.ts';
import { answerText, attachConversation, type Message } from '../../interaction/index.ts';
import type { ModelMetrics } from './metrics.ts';
import type { ModelResponse, ResponseReader } from './response-reader.ts';
import type { ServerAddress } from './server.ts';

/** What is known of a call before it is made. */
export interface CallDescription {
  readonly operation: string;
  readonly provider: string;
  readonly model: string | undefined;
  readonly server: ServerAddress | undefined;
  readonly stream: boolean;
  /** Further request attributes, set at the start. */
  readonly attributes: Attributes;
  readonly reader: ResponseReader;
  /** What is said to the model; called when its text is needed, if it is. */
  readonly messages: () => readonly Message[];
  /** Tool definitions, as the provider is given them. */
  readonly tools?: unknown;
  /** The SDK starts a span of its own for this call, which `ModelCall.adopt` is to be given. */
  readonly hasNativeSpan?: boolean | undefined;
  /** Whether a stream that ended without an error brought all of its answer, where the provider has a word for that. */
  readonly isWhole?: ((response: ModelResponse) => boolean) | undefined;
  /** The provider's own code for an error it sent, if the error holds one. */
  readonly errorCode: (error: unknown) => string | undefined;
}

/** What an instrumentation lends to its calls. */
export interface CallHost {
  readonly tracer: Tracer;
  readonly metrics: ModelMetrics;
  readonly captureContent: boolean;
  readonly streamIdleTimeoutMs: number;
}

/** What tells a call apart, in its span and in every metric. */
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

/** Hands over what a call said; see `attachConversation`. */
export function attachCall(span: Span, call: CallDescription, response: () => ModelResponse): void {
  attachConversation(span, {
    provider: call.provider,
    messages: call.messages,
    answer: () => answerText(response().messages()),
    model: () => response().model ?? call.model,
    usage: () => response().usage,
    costUsd: () => response().costUsd,
  });
}

/** What stands on a span already, where its SDK lets it be read: the API has no way to. */
export function attributesOf(span: Span | undefined): Readonly<Attributes> | undefined {
  return (span as { readonly attributes?: Attributes } | undefined)?.attributes;
}
