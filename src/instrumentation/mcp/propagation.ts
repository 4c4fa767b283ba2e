/**
 * Trace context in `params._meta` (SEP-414): bare keys, written and read by whatever propagator the application has
 * configured.
 */
import {
  type Context,
  context,
  isSpanContextValid,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type TextMapGetter,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { injectWithin } from '../../base/index.ts';
import { governanceFromBaggage, governanceToBaggage } from '../../processor/index.ts';
import type { McpMessage, MessageParams } from './internal-types.ts';
import type { McpPropagation } from './types.ts';

/** The W3C limit for baggage; no header of trace context is longer. */
const MAX_VALUE_CHARS = 8192;

const META_GETTER: TextMapGetter<Readonly<Record<string, unknown>>> = {
  keys: (meta) => Object.keys(meta),
  get: (meta, key) => {
    const value = meta[key];
    return typeof value === 'string' && value.length <= MAX_VALUE_CHARS ? value : undefined;
  },
};

/**
 * A copy of `message` that carries `active`, and its governance fields where baggage may leave; `message` itself, its
 * params and its `_meta` stay as they are.
 */
export function withTraceContext<M extends McpMessage>(message: M, active: Context, mode: McpPropagation): M {
  if (mode === 'none') return message;
  const carrier: Record<string, string> = {};
  injectWithin(mode === 'all' ? governanceToBaggage(active) : withoutBaggage(active), carrier);
  // Sentry's propagator has baggage of its own.
  if (mode !== 'all' && 'baggage' in carrier) delete carrier.baggage;
  // A propagator that has nothing to say leaves the carrier empty.
  if (isEmpty(carrier)) return message;
  const params = (message.params ?? {}) as MessageParams;
  // What serializes itself cannot be copied key by key.
  if (Array.isArray(params) || typeof params.toJSON === 'function') return message;
  // Three times as fast as spreading into literals that add a property.
  const copied = Object.assign({}, params, { _meta: withCarrier(params._meta, carrier) });
  return Object.assign({}, message, { params: copied });
}

/** A context is copied with each change, so it is changed only where there is something to remove. */
function withoutBaggage(active: Context): Context {
  return propagation.getBaggage(active) === undefined ? active : propagation.deleteBaggage(active);
}

function isEmpty(record: object): boolean {
  for (const _ in record) return false;
  return true;
}

function withCarrier(meta: MessageParams['_meta'], carrier: Record<string, string>): Record<string, unknown> {
  if (meta === undefined) return carrier;
  const both: Record<string, unknown> = { ...meta, ...carrier };
  // A state forwarded from upstream does not belong to the parent written here.
  if ('traceparent' in carrier && !('tracestate' in carrier) && 'tracestate' in both) delete both.tracestate;
  return both;
}

/** `from` with the span that the headers of an HTTP request name, unless one is active there. */
export function withHeaderContext(from: Context, headers: Readonly<Record<string, unknown>>): Context {
  if (trace.getSpan(from) !== undefined) return from;
  const remote = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, headers, META_GETTER));
  return remote === undefined ? from : trace.setSpanContext(from, remote);
}

export interface SpanPlace {
  readonly parent: Context;
  /** Of an incoming message: the span active where it came in, such as an HTTP server span, when it is not the parent. */
  readonly links: Link[] | undefined;
}

/**
 * The parent of an incoming message: what `_meta` says, else what is active here and still going on. Governance fields
 * in its baggage hold here when the peer is one that baggage may be sent to.
 */
export function incomingContext(message: McpMessage, mode: McpPropagation): SpanPlace {
  const ambient = context.active();
  const ambientSpan = trace.getSpan(ambient);
  const carrier = findCarrier(message.params?._meta);
  if (carrier !== undefined && ambientSpan !== undefined && carriesOnly(carrier, ambientSpan))
    return { parent: governanceFromBaggage(ambient, mode === 'all'), links: undefined };
  const extracted =
    carrier === undefined
      ? ambient
      : governanceFromBaggage(propagation.extract(ambient, carrier, META_GETTER), mode === 'all');
  const extractedSpan = trace.getSpan(extracted);
  // A propagator that finds nothing leaves the ambient span where it was.
  const remote = extractedSpan === ambientSpan ? undefined : extractedSpan?.spanContext();
  const ambientContext = ambientSpan?.spanContext();
  // In memory the sender's own span is active here: it is the parent already.
  const same = remote?.spanId === ambientContext?.spanId && remote?.traceId === ambientContext?.traceId;
  const isAlone = ambientSpan === undefined || ambientContext === undefined;
  if (same || isAlone || !isSpanContextValid(ambientContext)) return { parent: extracted, links: undefined };
  if (remote !== undefined && isSpanContextValid(remote)) {
    return { parent: extracted, links: [{ context: ambientContext }] };
  }
  if (isGoingOn(ambientSpan)) return { parent: extracted, links: undefined };
  // A stream opened long ago keeps the context of its opening: worth a link, wrong as a parent.
  return { parent: trace.deleteSpan(extracted), links: [{ context: ambientContext }] };
}

/**
 * Whether a span that goes on here is all that a message carries: in memory a message is handled while it is sent. Its
 * parent is that span then, and nothing has to be parsed, which takes as long as all else that is done on arrival.
 */
function carriesOnly(carrier: Readonly<Record<string, unknown>>, span: Span): boolean {
  const { traceparent } = carrier;
  if (typeof traceparent !== 'string' || !span.isRecording()) return false;
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (traceparent.length !== TRACEPARENT_CHARS || !traceparent.startsWith('00-')) return false;
  if (!traceparent.startsWith(traceId, TRACE_ID_AT) || !traceparent.startsWith(spanId, SPAN_ID_AT))
    return false;
  if (!traceparent.endsWith(traceFlags === TraceFlags.SAMPLED ? '-01' : '-00')) return false;
  for (const key in carrier) if (key !== 'traceparent' && key !== 'progressToken') return false;
  return true;
}

/** `00-<32 digits>-<16 digits>-<2 digits>`, as W3C Trace Context has it. */
const TRACEPARENT_CHARS = 55;
const TRACE_ID_AT = 3;
const SPAN_ID_AT = 36;

function isGoingOn(span: Span): boolean {
  if (span.isRecording()) return true;
  const { isRemote, traceFlags } = span.spanContext();
  return isRemote === true || (traceFlags & TraceFlags.SAMPLED) === 0;
}

/** dd-trace writes its headers, `traceparent` among them, under a key of its own. */
const DD_KEY = '_dd_trace_context';

function findCarrier(meta: MessageParams['_meta']): Readonly<Record<string, unknown>> | undefined {
  if (typeof meta !== 'object' || meta === null) return undefined;
  const dd = meta[DD_KEY];
  if (typeof dd !== 'object' || dd === null || 'traceparent' in meta) return meta;
  return dd as Readonly<Record<string, unknown>>;
}
