import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { semconv as names } from '../../base/index.ts';
import {
  announceTools,
  findOuterCall,
  leaveLateWork,
  type OuterCall,
  recordModelCall,
  requestContent,
  responseContent,
  takesLateWork,
} from '../../interaction/index.ts';
import { isObject, type JsonObject, KeptValues, numberAt } from '../../json/index.ts';
import type { ResponseObserver } from './api-promise.ts';
import { BackgroundAnswer } from './background.ts';
import {
  attachCall,
  type CallDescription,
  type CallHost,
  isNoSpan,
  keepRequest,
  missingOn,
  toIdentity,
} from './call-description.ts';
import { setCall } from './call-of-span.ts';
import { type ErrorFacts, errorFacts } from './error-type.ts';
import { guard } from './guard.ts';
import { type LooseCall, looseCall, noteAnswer, toContext } from './loose-calls.ts';
import { observeStream, type StreamObserver } from './observe-stream.ts';
import { type OpenCall, openCalls } from './open-calls.ts';
import { addAnswer, addToNative } from './response-attributes.ts';
import type { ModelResponse } from './response-reader.ts';

/** How a call ended; empty for a whole response. */
interface Ending {
  readonly streamEnd?: string;
  readonly isRead?: boolean;
  readonly facts?: ErrorFacts;
  readonly message?: string | undefined;
  /** The call stands on the span and in the metrics already. */
  readonly isRecorded?: boolean;
}

/**
 * One observed call to a model, from the SDK method to the last chunk. It ends exactly once. Its methods may throw only
 * inside a guard; see `guard.ts`.
 */
export class ModelCallSpan implements ResponseObserver, StreamObserver, OpenCall {
  lastActivityMs: number;
  readonly #host: CallHost;
  readonly #call: CallDescription;
  readonly #startMs: number;
  /** Attributes the span starts with, so that samplers see them, and that every metric has. */
  readonly #identity: Attributes;
  #span: Span | undefined;
  /** The span is read some time after its end: what can wait is written then. */
  #isLate = false;
  #read: ModelResponse | undefined;
  /** `own`: we start and end it. `native`: the SDK's span; `outer`: one already open around the call. We only add to these. */
  #owner: 'own' | 'native' | 'outer' = 'own';
  #outer: OuterCall | undefined;
  #loose: LooseCall | undefined;
  #ended = false;
  #responded = false;
  readonly #background: BackgroundAnswer | undefined;
  #retries = 0;
  #firstChunkMs: number | undefined;
  #status: number | undefined;

  constructor(host: CallHost, call: CallDescription) {
    this.#host = host;
    this.#call = call;
    this.lastActivityMs = performance.now();
    this.#startMs = call.startMs ?? this.lastActivityMs;
    this.#identity = toIdentity(call);
    this.#background = call.background && new BackgroundAnswer(call.background, this);
  }

  /** Starts the span and gives the context to make the call in. */
  start(within: Context): Context {
    openCalls.begin(this);
    const { request, as } = this.#call;
    this.#loose = as.speaks ? looseCall(within, request) : undefined;
    const parent = this.#loose === undefined ? within : toContext(this.#loose, within);
    if (this.#call.hasNativeSpan === true) return parent;
    const outer = findOuterCall(parent);
    if (outer?.claim(() => this.#leave(parent)) === true) {
      this.#outer = outer;
      this.#owner = 'outer';
      this.#span = outer.span;
      outer.span.setAttributes(
        missingOn(outer.span, { ...this.#identity, ...this.#requestAttributes(request) }),
      );
    } else this.#span = this.#startSpan(parent, this.#call.startMs);
    announceTools(this.#span, as.tools(request), this.#call.model);
    setCall(this.#span, this);
    return trace.setSpan(parent, this.#span);
  }

  #startSpan(parent: Context, startMs?: number): Span {
    const { operation, model } = this.#call;
    const name = model === undefined ? operation : `${operation} ${model}`;
    const kind = SpanKind.CLIENT;
    const attributes = this.#identity;
    const since = startMs === undefined ? {} : { startTime: performance.timeOrigin + startMs };
    const span = this.#host.tracer.startSpan(name, { kind, attributes, ...since }, parent);
    this.#isLate = this.#call.as.canWait && takesLateWork(span);
    // Not among the start attributes: SDKs copy those twice for the sampler, which does not need these.
    return this.#isLate ? span : span.setAttributes(this.#requestAttributes(this.#call.request));
  }

  #requestAttributes(request: JsonObject): Attributes {
    const attributes = this.#call.as.attributes(request);
    // The sequences are text that the prompt's author chose.
    if (!this.#host.captureContent) delete attributes[names.ATTR_GEN_AI_REQUEST_STOP_SEQUENCES];
    return attributes;
  }

  /** The outer span ends before the stream does: the call gets a span of its own, from its true start. */
  #leave(parent: Context): void {
    this.#outer = undefined;
    this.#owner = 'own';
    this.#span = this.#startSpan(parent, this.#startMs);
  }

  /**
   * Uses the span that the SDK started for this call, unless it is a no-op: the SDK's copy of the OpenTelemetry API may
   * have no provider while ours has one.
   */
  adopt(span: Span | undefined): void {
    const parent = context.active();
    if (span === undefined || isNoSpan(span, parent)) {
      this.#span = this.#startSpan(parent, this.#startMs);
      return;
    }
    this.#span = span;
    this.#owner = 'native';
    const { request, as, reader, model } = this.#call;
    announceTools(span, as.tools(request), model);
    // The SDK may end it at any time from now on.
    attachCall(span, this.#call, request, () => reader.result());
    if (this.#host.captureContent && span.isRecording())
      span.setAttributes(requestContent(as.messages(request), as.tools(request)));
  }

  get span(): Span | undefined {
    return this.#span;
  }

  get awaitsNativeSpan(): boolean {
    return this.#call.hasNativeSpan === true;
  }

  value(value: unknown, props: unknown): void {
    if (this.#ended || this.#responded) return;
    this.#responded = true;
    if (isObject(props) && isObject(props.response)) this.#status = numberAt(props.response, 'status');
    const { stream, streamIn, reader } = this.#call;
    const events = stream && streamIn !== undefined ? streamIn(value) : value;
    const isStream =
      (stream || this.#background?.isAwaited === true) && isObject(events) && Symbol.asyncIterator in events;
    if (!isStream || events !== value) guard('reading a response body', () => reader.whole(value));
    if (isStream) {
      openCalls.track(this, this.#host.streamIdleTimeoutMs);
      observeStream(events, this.#background?.observer ?? this);
    } else if (!this.#goesOn(value)) this.#end();
  }

  /** The answer of a call that waits for it, as it was retrieved. */
  resume(value: unknown, props: unknown): void {
    this.#responded = false;
    this.lastActivityMs = performance.now();
    this.value(value, props);
  }

  retried(): void {
    this.#retries++;
  }

  rawResponse(response: unknown): void {
    this.#status = numberAt(response, 'status');
    this.#end();
  }

  chunk(value: unknown): void {
    if (this.#ended) return;
    const now = performance.now();
    if (this.#firstChunkMs === undefined) {
      this.#firstChunkMs = now;
      this.#host.metrics.timeToFirstChunk.record((now - this.#startMs) / 1000, this.#identity);
    } else {
      this.#host.metrics.timePerOutputChunk.record((now - this.lastActivityMs) / 1000, this.#identity);
    }
    this.lastActivityMs = now;
    this.#call.reader.chunk(value);
  }

  /** The reader saw no error, so neither do we, even if the answer is incomplete and the SDK's own helpers would fail. */
  end(): void {
    if (!this.#goesOn()) this.#end({ isRead: true });
  }

  closed(): void {
    if (!this.#goesOn()) this.#end({ streamEnd: 'closed' });
  }

  /** Whether the provider goes on with the answer, which is then waited for. */
  #goesOn(value: unknown = this.#call.reader.soFar?.()): boolean {
    if (this.#ended || this.#background?.goesOn(value) !== true) return false;
    openCalls.track(this, this.#host.streamIdleTimeoutMs);
    return true;
  }

  /** Ends a span to which the SDK called inside has added its data. */
  endRecorded(): void {
    this.#end({ isRecorded: true });
  }

  abandon(): void {
    guard('ending an abandoned call', () => this.#end({ streamEnd: 'abandoned' }));
  }

  fail(error: unknown): void {
    if (this.#ended || this.#goesOn()) return;
    const facts = errorFacts(error, this.#call.as.errorCode(error), this.#host.captureContent);
    const message = this.#host.captureContent && error instanceof Error ? error.message : undefined;
    this.#end({ facts, message });
  }

  #end(how: Ending = {}): void {
    if (this.#ended) return;
    this.#ended = true;
    openCalls.close(this);
    this.#background?.end(this.#response.id, how.streamEnd === undefined && how.facts === undefined);
    // The span may wait for its export; what was said need not.
    setCall(this.#span, undefined);
    const seconds = (performance.now() - this.#startMs) / 1000;
    try {
      if (how.isRecorded !== true) this.#record(how, seconds);
    } finally {
      // The SDK ends its span when the stream is read, and this one is not.
      const isLeft = this.#owner === 'native' && how.streamEnd === 'abandoned' && this.#span?.isRecording();
      if (this.#owner === 'own' || isLeft === true) this.#span?.end();
      this.#outer?.settle(how.facts !== undefined);
    }
  }

  #record(how: Ending, seconds: number): void {
    const span = this.#span;
    const isRecording = span?.isRecording() === true;
    // Before anything is read, since an answer composes its parts when they are asked for.
    const kept = isRecording && this.#isLate && how.facts === undefined ? this.#keep() : undefined;
    if (this.#host.metrics.enabled) this.#measure(how, seconds);
    if (span === undefined || !isRecording) return;
    const loose = this.#loose;
    if (loose !== undefined) guard('noting an answer', () => noteAnswer(loose, span, this.#response));
    if (kept === undefined) this.#write(span, how, this.#call.request);
    else {
      const write = () => void guard('writing a call', () => this.#write(span, how, kept.request));
      leaveLateWork(span, { characters: kept.characters, write });
    }
  }

  /** Keeps what is read after the call, when nobody waits for it; undefined where that fails. */
  #keep(): { readonly request: JsonObject; readonly characters: number } | undefined {
    return guard('keeping a call', () => {
      const values = new KeptValues();
      const request = keepRequest(this.#call.request, values);
      this.#call.reader.keep(values);
      return { request, characters: values.characters };
    });
  }

  #measure(how: Ending, seconds: number): void {
    const { model, usage, errorType } = this.#response;
    const about: Attributes = { ...this.#identity };
    if (model !== undefined) about[names.ATTR_GEN_AI_RESPONSE_MODEL] = model;
    const type = how.facts?.type ?? errorType;
    if (type !== undefined) about[names.ATTR_ERROR_TYPE] = type;
    recordModelCall(this.#host.metrics, about, usage, seconds);
  }

  get #response(): ModelResponse {
    this.#read ??= this.#call.reader.result();
    return this.#read;
  }

  #write(span: Span, how: Ending, request: JsonObject): void {
    const response = this.#response;
    const errorType = how.facts?.type ?? response.errorType;
    const { as, reader } = this.#call;
    const status = how.facts?.status ?? this.#status;
    const isNative = this.#owner === 'native';
    const attributes = this.#isLate ? this.#requestAttributes(request) : {};
    if (isNative) addToNative(attributes, response);
    else addAnswer(attributes, response);
    const isCut = how.isRead === true && as.saysEnd(request) && !reader.isComplete;
    const streamEnd = isCut ? 'cut' : how.streamEnd;
    if (streamEnd !== undefined) attributes[names.ATTR_STREAM_END] = streamEnd;
    if (!isNative) {
      if (this.#retries > 0) attributes[names.ATTR_HTTP_REQUEST_RESEND_COUNT] = this.#retries;
      if (status !== undefined) attributes[names.ATTR_HTTP_RESPONSE_STATUS_CODE] = status;
      // The owner of the outer span decides whether its call failed: it may have retried.
      if (errorType !== undefined && this.#owner === 'own') attributes[names.ATTR_ERROR_TYPE] = errorType;
      if (this.#firstChunkMs !== undefined) {
        const toFirst = (this.#firstChunkMs - this.#startMs) / 1000;
        attributes[names.ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] = toFirst;
      }
    }
    span.setAttributes(attributes);
    if (this.#owner === 'own' && errorType !== undefined) {
      const message = how.message ?? (status === undefined ? errorType : `${status} ${errorType}`);
      span.setStatus({ code: SpanStatusCode.ERROR, message });
    }
    if (!isNative) attachCall(span, this.#call, request, () => response);
    if (!this.#host.captureContent) return;
    if (!isNative) span.setAttributes(requestContent(as.messages(request), as.tools(request)));
    span.setAttributes(responseContent(response.messages()));
  }
}
