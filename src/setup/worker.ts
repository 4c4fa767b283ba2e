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
import { errorMessage, semconv, useStderrDiag, withoutTracing } from '../base/index.ts';
import { encodeProtobuf } from '../otlp/index.ts';
import { ObservatorySpanProcessor } from '../processor/index.ts';

/** What the runtime calls: each with the event, the bindings, and what keeps the event alive. */
const HANDLERS: readonly unknown[] = ['fetch', 'scheduled', 'queue', 'email'];
const EVENT = createContextKey('mcp-observatory event');
const MAX_HELD = 500;
const SEND_MS = 10_000;

/** What one event has traced: in the runtime none can wait for what another one does. */
interface Event {
  waitUntil(work: Promise<unknown>): void;
  ended: ReadableSpan[];
  open: number;
}

/**
 * The same handler, of which each event is a span. What was traced is sent to `OTEL_EXPORTER_OTLP_ENDPOINT` when the last
 * span of its event has ended; no answer waits for that.
 */
export function observeWorker<H extends object>(handler: H): H {
  return new Proxy(handler, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || !HANDLERS.includes(name)) return member;
      return (...args: unknown[]) => observe(String(name), args, () => Reflect.apply(member, target, args));
    },
  });
}

async function observe(name: string, args: readonly unknown[], call: () => unknown): Promise<unknown> {
  const [of, , life] = args as [{ method?: unknown }?, unknown?, Pick<Event, 'waitUntil'>?];
  const event: Event = { waitUntil: (work) => life?.waitUntil(work), ended: [], open: 0 };
  const from = ROOT_CONTEXT.setValue(EVENT, event);
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
    events.set(span, event);
  },
  onEnd(span) {
    const event = events.get(span);
    if (event === undefined) return;
    event.open -= 1;
    event.ended.push(span);
    if (event.open === 0 || event.ended.length >= MAX_HELD) event.waitUntil(send(event.ended.splice(0)));
  },
  forceFlush: async () => {},
  shutdown: async () => {},
};

/** Sends spans, once. */
async function send(spans: readonly ReadableSpan[]): Promise<void> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = '', OTEL_EXPORTER_OTLP_HEADERS: given = '' } = process.env;
  try {
    const headers = new Headers({ 'content-type': 'application/x-protobuf' });
    for (const [, name = '', value = ''] of given.matchAll(/([^=,\s]+)=([^,]*)/g))
      headers.set(name, decodeURIComponent(value.trim()));
    const signal = AbortSignal.timeout(SEND_MS);
    const request = { method: 'POST', body: encodeProtobuf(spans), headers, signal };
    const { ok, status } = await withoutTracing(() =>
      fetch(`${endpoint.replace(/\/$/, '')}/v1/traces`, request),
    );
    if (!ok) throw new Error(`it answered with status ${status}`);
  } catch (error) {
    const what = `${spans.length} spans were not sent to OTEL_EXPORTER_OTLP_ENDPOINT`;
    diag.warn(`mcp-observatory: ${what}: ${errorMessage(error)}`);
  }
}
