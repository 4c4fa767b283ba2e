import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import { diag } from '@opentelemetry/api';
import { errorMessage, type Loaded, load, loadNow, locate, VERSION, withoutTracing } from '../base/index.ts';
import { isTransient } from './back-end.ts';
import { type OtlpTarget, postOtlp } from './otlp-request.ts';

/** Signals, as in the exporters' package names. */
export type Signal = 'trace' | 'metrics';

const FIRST_RETRY_MS = 500;

const compress = promisify(gzip);

type Done = (result: { code: number; error?: Error }) => void;

/** Writes items as OTLP, from `@opentelemetry/otlp-transformer`. */
interface Serializer<Items> {
  serializeRequest(items: Items): Uint8Array | undefined;
  deserializeResponse(body: Uint8Array): { partialSuccess?: PartialSuccess | undefined };
}

interface PartialSuccess {
  readonly rejectedSpans?: number | string | undefined;
  readonly rejectedDataPoints?: number | string | undefined;
  readonly errorMessage?: string | undefined;
}

/** Result of `convertLegacyHttpOptions`: options merged with the environment. */
interface HttpOptions {
  readonly url: string;
  readonly headers: Headers | (() => Headers | Promise<Headers>);
  readonly compression?: string | undefined;
  readonly timeoutMillis: number;
  agentFactory(protocol: string): Agent | Promise<Agent>;
}
type Headers = Record<string, string>;

/** A body ready to be posted, and where to. */
export interface OtlpRequest {
  readonly target: OtlpTarget;
  readonly body: Uint8Array;
}

/**
 * An OTLP/HTTP exporter that can be stopped: unlike the SDK's, whose retries keep a process alive for up to ten seconds.
 * Serializer and configuration are those of the SDK's exporter.
 */
export class OtlpSender<Items> {
  readonly #loadSerializer: () => Serializer<Items>;
  #loaded: Serializer<Items> | undefined;
  readonly #target: OtlpTarget;
  readonly #isGzip: boolean;
  readonly #retries: boolean;
  readonly #underWay = new Set<Promise<void>>();
  readonly #end = new AbortController();

  /** @param retries whether exports are repeated until the timeout; not needed where the caller does it. */
  constructor(
    loadSerializer: () => Serializer<Items>,
    target: OtlpTarget,
    isGzip: boolean,
    retries: boolean,
  ) {
    this.#loadSerializer = loadSerializer;
    this.#target = isGzip
      ? { ...target, headers: { ...target.headers, 'content-encoding': 'gzip' } }
      : target;
    this.#isGzip = isGzip;
    this.#retries = retries;
  }

  export(items: Items, done: Done): void {
    const work = withoutTracing(() => this.#export(items)).then(
      () => done({ code: 0 }),
      (error: unknown) => done({ code: 1, error: error instanceof Error ? error : new Error(String(error)) }),
    );
    const tracked = work.catch((error: unknown) => {
      diag.error(`mcp-observatory: the result of an export could not be handled: ${errorMessage(error)}`);
    });
    this.#underWay.add(tracked);
    void tracked.finally(() => this.#underWay.delete(tracked));
  }

  /** The request of these items, for a process that has no time to send it. */
  requestOf(items: Items): OtlpRequest {
    const body = this.#serializer.serializeRequest(items) ?? new Uint8Array();
    const { agent, ...target } = this.#target;
    const { ca, cert, key } = (agent as { options?: Record<string, unknown> } | undefined)?.options ?? {};
    return { target: { ...target, tls: { ca, cert, key } }, body: this.#isGzip ? gzipSync(body) : body };
  }

  async forceFlush(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Ends exports that are under way at once. Idempotent. */
  async shutdown(): Promise<void> {
    this.#end.abort(new Error('the exporter was shut down'));
    await Promise.all(this.#underWay);
    this.#target.agent?.destroy();
  }

  /** Loaded for the first export: its package is a tenth of what a program with `register` loads before it starts. */
  get #serializer(): Serializer<Items> {
    this.#loaded ??= this.#loadSerializer();
    return this.#loaded;
  }

  async #export(items: Items): Promise<void> {
    const plain = this.#serializer.serializeRequest(items) ?? new Uint8Array();
    const body = this.#isGzip ? await compress(plain) : plain;
    this.#readAnswer(await this.#post(body));
  }

  async #post(body: Uint8Array): Promise<Uint8Array> {
    const { signal } = this.#end;
    const deadline = performance.now() + this.#target.timeoutMs;
    for (let delayMs = FIRST_RETRY_MS; ; delayMs *= 2) {
      const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()));
      try {
        // A flush or shutdown that waits for an export keeps the process alive by itself.
        return await postOtlp({ ...this.#target, timeoutMs }, body, { signal, keepsAlive: false });
      } catch (error) {
        const isWorthIt = this.#retries && isTransient(error) && performance.now() + delayMs < deadline;
        if (signal.aborted || !isWorthIt) throw error;
      }
      await sleep(delayMs * (0.75 + Math.random() / 2), undefined, { ref: false, signal });
    }
  }

  #readAnswer(answer: Uint8Array): void {
    if (answer.length === 0) return;
    try {
      const { partialSuccess } = this.#serializer.deserializeResponse(answer);
      const rejected = Number(partialSuccess?.rejectedSpans ?? partialSuccess?.rejectedDataPoints ?? 0);
      if (rejected > 0) {
        diag.warn(
          `mcp-observatory: the back end rejected ${rejected} items: ${partialSuccess?.errorMessage}`,
        );
      }
    } catch {
      // A success with a body that is not OTLP.
    }
  }
}

/**
 * The sender that does what the SDK's exporter in `file` would do.
 * @returns undefined where the packages of the exporter have another layout.
 */
export async function senderFor<Items>(
  signal: Signal,
  file: string,
  config: object,
  retries: boolean,
): Promise<OtlpSender<Items> | undefined> {
  const base = locate('@opentelemetry/otlp-exporter-base/node-http', file);
  const transformer = locate('@opentelemetry/otlp-transformer', file);
  if (base === undefined || transformer === undefined) return undefined;
  const isProtobuf = file.includes('-otlp-proto');
  const name = `${isProtobuf ? 'Protobuf' : 'Json'}${signal === 'trace' ? 'Trace' : 'Metrics'}Serializer`;
  const loadSerializer = (): Serializer<Items> => {
    const serializer = loadNow(transformer)[name];
    if (serializer === undefined) throw new Error(`${transformer} has no ${name}`);
    return serializer as Serializer<Items>;
  };
  const options = httpOptions(await load(base), signal, config, isProtobuf);
  if (options === undefined) return undefined;
  const { url, headers, timeoutMillis: timeoutMs, compression } = options;
  const target = {
    url,
    headers: {
      'user-agent': `mcp-observatory/${VERSION}`,
      ...(typeof headers === 'function' ? await headers() : headers),
    },
    timeoutMs,
    agent: await options.agentFactory(new URL(url).protocol),
  };
  return new OtlpSender(loadSerializer, target, compression === 'gzip', retries);
}

function httpOptions(
  base: Loaded,
  signal: Signal,
  config: object,
  isProtobuf: boolean,
): HttpOptions | undefined {
  const convert: unknown = base.convertLegacyHttpOptions;
  if (typeof convert !== 'function') return undefined;
  const [name, path] = signal === 'trace' ? ['TRACES', 'v1/traces'] : ['METRICS', 'v1/metrics'];
  const contentType = isProtobuf ? 'application/x-protobuf' : 'application/json';
  const options = convert(config, name, path, { 'Content-Type': contentType }) as Partial<HttpOptions>;
  const isComplete = typeof options.url === 'string' && typeof options.agentFactory === 'function';
  return isComplete ? (options as HttpOptions) : undefined;
}
