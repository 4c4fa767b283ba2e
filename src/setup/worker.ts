/**
 * `mcp-observatory/worker`: one call for a Cloudflare Worker, whose code is one bundle that no hook reaches, and does
 * nothing before its first request or after its last.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  type ContextManager,
  context,
  createContextKey,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { type ReadableSpan, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import {
  decodeUri,
  errorClass,
  formatPlural,
  semconv,
  useStderrDiag,
  withoutTracing,
} from '../base/index.ts';
import { encodeProtobuf } from '../otlp/index.ts';
import { ObservatorySpanProcessor } from '../processor/index.ts';

/** What the runtime calls: each with the event, the bindings, and what keeps the event alive. */
const HANDLERS: readonly unknown[] = ['fetch', 'scheduled', 'queue', 'email'];
const EVENT = createContextKey('mcp-observatory event');
const MAX_HELD = 500;
const SEND_MS = 10_000;
/** How long what ends after its event waits for more: in the runtime an event may make few requests. */
const LATE_MS = 1000;
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** What one event has traced: in the runtime none can wait for what another one does. */
interface Event {
  waitUntil(work: Promise<unknown>): void;
  ended: ReadableSpan[];
  open: number;
  root?: object;
  isOver: boolean;
}

/**
 * The same handler, of which each event is a span. What was traced is sent to `OTEL_EXPORTER_OTLP_ENDPOINT` when the
 * event is over, and what ends later when it has ended; no answer waits for that. A class is returned as it is.
 */
export function observeWorker<H extends object>(handler: H): H {
  if (typeof handler === 'function') return handler;
  // A copy: a proxy of a frozen object may only answer with its own members.
  return new Proxy(Object.setPrototypeOf({ ...handler }, Object.getPrototypeOf(handler)) as H, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, handler);
      if (typeof member !== 'function' || !HANDLERS.includes(name)) return member;
      return (...args: unknown[]) => observe(String(name), args, () => Reflect.apply(member, handler, args));
    },
  });
}

async function observe(name: string, args: readonly unknown[], call: () => unknown): Promise<unknown> {
  const [of, , life] = args as [Partial<Request>?, unknown?, Pick<Event, 'waitUntil'>?];
  const event: Event = { waitUntil: (work) => life?.waitUntil(work), ended: [], open: 0, isOver: false };
  const caller = TRACEPARENT.exec((name === 'fetch' && of?.headers?.get?.('traceparent')) || '');
  const [, traceId = '', spanId = '', flags = ''] = caller ?? [];
  const sent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  const outside = caller === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, sent);
  const from = outside.setValue(EVENT, event);
  // Set up by the first event: before it the runtime gives no random ids.
  provider ??= start();
  const tracer = provider.getTracer('mcp-observatory/worker');
  const span = tracer.startSpan(String(of?.method ?? name), { kind: SpanKind.SERVER }, from);
  try {
    return await context.with(trace.setSpan(from, span), call);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

let provider: TracerProvider | undefined;

function start(): TracerProvider {
  useStderrDiag(process.env.OTEL_LOG_LEVEL);
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => storage.run(active, () => Reflect.apply(work, self, args)),
    bind: (active, target) =>
      typeof target === 'function'
        ? storage.run(active, () => AsyncLocalStorage.bind(target as never))
        : target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager);
  const name = process.env.OTEL_SERVICE_NAME ?? 'unknown_service:worker';
  const made = new TracerProvider({
    resource: { attributes: { [semconv.ATTR_SERVICE_NAME]: name } } as never,
    spanProcessors: [new ObservatorySpanProcessor(), PER_EVENT],
  });
  trace.setGlobalTracerProvider(made);
  return made;
}

const events = new WeakMap<object, Event>();
const PER_EVENT: SpanProcessor = {
  onStart(span, from) {
    const event = from.getValue(EVENT) as Event | undefined;
    if (event === undefined) return;
    event.open += 1;
    event.root ??= span;
    events.set(span, event);
  },
  onEnd(span) {
    const event = events.get(span);
    if (event === undefined) return;
    event.open -= 1;
    event.ended.push(span);
    const isLate = event.isOver;
    event.isOver ||= span === event.root;
    try {
      // One that never ends, of a stream nobody reads, keeps none of the others.
      if (event.open === 0 || event.isOver !== isLate || event.ended.length >= MAX_HELD)
        event.waitUntil(send(event.ended.splice(0)));
      else if (isLate && event.ended.length === 1)
        event.waitUntil(
          new Promise((done) => setTimeout(done, LATE_MS)).then(() => send(event.ended.splice(0))),
        );
    } catch {
      // The runtime takes nothing more of an event that is over.
    }
  },
  forceFlush: async () => {},
  shutdown: async () => {},
};

let isUnsetTold = false;

/** Sends spans, once. What is warned of quotes nothing: address and headers hold secrets. */
async function send(spans: readonly ReadableSpan[]): Promise<void> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = '', OTEL_EXPORTER_OTLP_HEADERS: given = '' } = process.env;
  const isUnset = endpoint === '';
  if (spans.length === 0 || (isUnset && isUnsetTold)) return;
  isUnsetTold ||= isUnset;
  const problem = isUnset ? 'it is not set' : await post(endpoint, given, spans);
  if (problem === undefined) return;
  const what = `not sent to OTEL_EXPORTER_OTLP_ENDPOINT: ${formatPlural(spans.length, 'span')}`;
  diag.warn(`mcp-observatory: ${what}: ${problem}`);
}

async function post(
  endpoint: string,
  given: string,
  spans: readonly ReadableSpan[],
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(SEND_MS);
  try {
    const headers = new Headers({ 'content-type': 'application/x-protobuf' });
    for (const [, name = '', value = ''] of given.matchAll(/([^=,\s]+)=([^,]*)/g))
      headers.set(name, decodeUri(value.trim()));
    const request = { method: 'POST', body: encodeProtobuf(spans), headers, signal };
    const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
    const { ok, status } = await withoutTracing(() => fetch(url, request));
    return ok ? undefined : `status ${status}`;
  } catch (error) {
    return signal.aborted ? 'timeout' : errorClass(error);
  }
}
