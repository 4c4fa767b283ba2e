/** Whether the spans of an application's SDK reach the receiver that the environment asks for. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { diag, type TracerProvider } from '@opentelemetry/api';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
import { printable } from '../base/index.ts';
import { listProcessors } from './beside-sdk.ts';

/**
 * Whether an application's SDK sends to none of the receiver that was asked for by its endpoint. Where no address is seen,
 * as of exporters in private fields, it is watched.
 */
export function sendsElsewhere(provider: TracerProvider, endpoint: string | undefined): boolean {
  const asked = endpoint === undefined ? undefined : toReceiver(endpoint);
  const processors = listProcessors(provider);
  if (asked === undefined || processors === undefined) return false;
  // Processors may wrap others. What waits in them holds addresses too: only those of exporters count.
  const exporters = processors.flatMap((one) => listWithin(one).filter(isExporter));
  const texts = exporters.flatMap(listWithin).filter((one) => typeof one === 'string');
  const receivers = texts.map(toReceiver);
  const known = receivers.filter((one) => one !== undefined);
  if (known.includes(asked)) return false;
  if (known.length === 0 && !processors.every(leavesEnded)) {
    processors.push(new SendingWatch(asked));
    return false;
  }
  diag.info(
    `mcp-observatory: the application's SDK sends its spans to ${printable(known.join(', ') || 'nobody')}; they go to ${printable(asked)} too`,
  );
  return true;
}

/** Whether a processor does nothing with a span that has ended, as those do that only write to it. */
function leavesEnded(processor: SpanProcessor): boolean {
  return /\{(?:\s|\/\/.*\n)*\}$/.test(Function.prototype.toString.call(processor.onEnd).slice(-MAX_MEMBERS));
}

/** How long an exporter may take until it sends the first span that has ended. */
const SENT_WITHIN_MS = 30_000;
/** What Node's two clients of HTTP say of each request. */
const REQUESTS = ['http.client.request.start', 'undici:request:create'];

interface SentRequest {
  readonly path?: string;
  readonly origin?: unknown;
  readonly protocol?: string;
  getHeader?(name: string): unknown;
}

/** Warns where spans end, and nothing in this process sends any to the receiver. OTLP over gRPC is not seen. */
class SendingWatch implements SpanProcessor {
  readonly #asked: string;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(asked: string) {
    this.#asked = asked;
    for (const name of REQUESTS) subscribe(name, this.#onRequest);
  }

  onStart(): void {}

  onEnd(): void {
    if (this.#isOver || this.#timer !== undefined) return;
    this.#timer = setTimeout(this.#onTimeout, SENT_WITHIN_MS).unref();
    process.once('exit', this.#onTimeout);
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}

  readonly #onRequest = (message: unknown): void => {
    const { request } = message as { request: SentRequest };
    if (request.path?.endsWith('/v1/traces') !== true) return;
    const origin = request.origin ?? `${request.protocol}//${request.getHeader?.('host')}`;
    if (toReceiver(String(origin)) === this.#asked) this.#end();
  };

  readonly #onTimeout = (): void => {
    this.#end();
    diag.warn(
      `mcp-observatory: where the application's SDK sends its spans is not seen. If ${printable(this.#asked)} gets none, give the SDK an exporter for it`,
    );
  };

  #end(): void {
    this.#isOver = true;
    for (const name of REQUESTS) unsubscribe(name, this.#onRequest);
    process.removeListener('exit', this.#onTimeout);
    clearTimeout(this.#timer);
  }
}

/** Host and port; the two ports of OTLP are of one receiver. */
function toReceiver(address: string): string | undefined {
  const text = /^[\w.-]+:\d+$/.test(address) ? `http://${address}` : address;
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return undefined;
  const { hostname, port, protocol } = new URL(text);
  const host = /^(?:127\.|\[::1\]|0\.0\.0\.0)/.test(hostname) ? 'localhost' : hostname;
  return `${host}:${port === '4317' ? '4318' : port || (protocol === 'https:' ? '443' : '80')}`;
}

const MAX_MEMBERS = 500;

/** What an object holds, and what is in that. Getters of strangers are not called: they may throw. */
function listWithin(top: unknown): readonly unknown[] {
  const members = new Set([top]);
  for (const one of members) {
    if (typeof one !== 'object' || one === null) continue;
    const held = Object.values(Object.getOwnPropertyDescriptors(one)).map(({ value }): unknown => value);
    if (one instanceof Map || one instanceof Set) held.push(...one.values());
    for (const each of held) if (members.size < MAX_MEMBERS) members.add(each);
  }
  return [...members];
}

function isExporter(one: unknown): boolean {
  return typeof one === 'object' && one !== null && 'export' in one;
}
