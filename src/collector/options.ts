import { type MeterProvider, metrics } from '@opentelemetry/api';
import {
  checkOptions,
  either,
  exactly,
  having,
  kinds,
  ObservatoryError,
  type OptionKinds,
  secret,
  wholeNumber,
} from '../base/index.ts';
import type { OtlpOptions } from '../durable/index.ts';
import type { Database } from '../postgres/index.ts';
import { type Address, isLoopback, type TlsOptions } from './receiver/index.ts';

/** Options of `startCollector`. */
export interface CollectorOptions {
  /** Connection string of the database with `mcp_traces`. */
  readonly databaseUrl?: string | undefined;
  /** An open database instead, such as the embedded one; it stays the caller's. */
  readonly database?: Database | undefined;
  /** URL of a ClickHouse with `mcp_traces` instead: `http://user:password@host:8123/database`. */
  readonly clickhouseUrl?: string | undefined;
  /** Create or update the tables when the database is first reached. @defaultValue true */
  readonly migrate?: boolean | undefined;
  /** Connections to the database, and so concurrently written batches. @defaultValue 4; 2 to ClickHouse */
  readonly connections?: number | undefined;
  /** Address of OTLP over HTTP and the health endpoints; `false` to disable. @defaultValue 127.0.0.1:4318 */
  readonly http?: Address | false | undefined;
  /** Address of OTLP over gRPC; `false` to disable. @defaultValue 127.0.0.1:4317 */
  readonly grpc?: Address | false | undefined;
  /** Additional address of the health endpoints, without TLS. @defaultValue none */
  readonly health?: Address | undefined;
  /**
   * Folder in which spans are kept while the database is unavailable. @defaultValue none: senders are asked to retry
   */
  readonly spool?: string | undefined;
  /** Maximum size of the spool in bytes; when it is full, senders are asked to retry. @defaultValue 1073741824 */
  readonly spoolMaxBytes?: number | undefined;
  /** Accepted bearer tokens; senders must send one. @defaultValue none */
  readonly tokens?: readonly string[] | undefined;
  /**
   * Origins of web pages that may send over HTTP, as browsers write them (`https://app.example.com`), or `*` for all.
   * @defaultValue none
   */
  readonly corsOrigins?: readonly string[] | undefined;
  /** TLS on both ports; with a client authority, mutual. @defaultValue none */
  readonly tls?: TlsOptions | undefined;
  /** Listen beyond loopback although senders need neither a token nor a certificate. @defaultValue false */
  readonly insecure?: boolean | undefined;
  /** Keep prompts, answers and error texts that senders put on their spans. @defaultValue false */
  readonly captureContent?: boolean | undefined;
  /** Names of attributes of your own that are stored without `captureContent` too. @defaultValue none */
  readonly keepAttributes?: readonly string[] | undefined;
  /** Back end to which safe spans are forwarded over OTLP/HTTP. @defaultValue none */
  readonly forward?: OtlpOptions | undefined;
  /** Maximum bytes of one request, compressed and decompressed. @defaultValue 20971520 */
  readonly maxBodyBytes?: number | undefined;
  /** Maximum spans of one request. @defaultValue 50000 */
  readonly maxSpans?: number | undefined;
  /** Maximum concurrent requests. @defaultValue 256 */
  readonly maxRequests?: number | undefined;
  /** Maximum bytes held by all requests in progress. @defaultValue 67108864 */
  readonly maxPendingBytes?: number | undefined;
  /** Maximum spans held by all requests in progress. @defaultValue 65536 */
  readonly maxPendingSpans?: number | undefined;
  /** How long `close` may take, in milliseconds. @defaultValue 25000 */
  readonly drainTimeoutMs?: number | undefined;
  /** Destination of the collector's own metrics. @defaultValue the global provider at this time */
  readonly meterProvider?: MeterProvider | undefined;
}

type Whole = keyof typeof DEFAULTS;

const DEFAULTS = {
  spoolMaxBytes: 1024 * 1024 * 1024,
  maxBodyBytes: 20 * 1024 * 1024,
  maxSpans: 50_000,
  maxRequests: 256,
  maxPendingBytes: 64 * 1024 * 1024,
  maxPendingSpans: 65_536,
  drainTimeoutMs: 25_000,
};

export type ResolvedCollectorOptions = Omit<
  CollectorOptions,
  Whole | 'connections' | 'http' | 'grpc' | 'meterProvider'
> & {
  readonly [K in Whole | 'connections']: number;
} & {
  readonly http: Address | undefined;
  readonly grpc: Address | undefined;
  readonly meterProvider: MeterProvider;
};

const AN_ADDRESS = either(kinds.object, exactly(false));

const OPTIONS: OptionKinds<CollectorOptions> = {
  databaseUrl: secret(kinds.string),
  database: having('a database', 'query', 'close'),
  clickhouseUrl: secret(kinds.string),
  migrate: kinds.boolean,
  http: AN_ADDRESS,
  grpc: AN_ADDRESS,
  health: kinds.object,
  spool: kinds.string,
  tokens: secret(kinds.strings),
  corsOrigins: kinds.strings,
  tls: kinds.object,
  insecure: kinds.boolean,
  captureContent: kinds.boolean,
  keepAttributes: kinds.strings,
  forward: kinds.object,
  meterProvider: having('a MeterProvider', 'getMeter'),
  connections: kinds.number,
  spoolMaxBytes: kinds.number,
  maxBodyBytes: kinds.number,
  maxSpans: kinds.number,
  maxRequests: kinds.number,
  maxPendingBytes: kinds.number,
  maxPendingSpans: kinds.number,
  drainTimeoutMs: kinds.number,
};

/** @throws ObservatoryError `INVALID_OPTION` for an invalid value, or if the collector would be open to anyone. */
export function resolveCollectorOptions(options: CollectorOptions): ResolvedCollectorOptions {
  checkOptions(options, OPTIONS, 'startCollector()');
  const resolved = {
    ...options,
    ...wholes(options),
    connections: wholeNumber('connections', options.connections ?? (options.clickhouseUrl ? 2 : 4), 1),
    http: options.http === false ? undefined : (options.http ?? { host: '127.0.0.1', port: 4318 }),
    grpc: options.grpc === false ? undefined : (options.grpc ?? { host: '127.0.0.1', port: 4317 }),
    meterProvider: options.meterProvider ?? metrics.getMeterProvider(),
  };
  const places = [options.databaseUrl, options.database, options.clickhouseUrl];
  if (places.filter((place) => place !== undefined).length !== 1) {
    throw invalid("Expected one of 'databaseUrl', 'database' and 'clickhouseUrl'");
  }
  if (resolved.http === undefined && resolved.grpc === undefined) {
    throw invalid('Expected at least one of HTTP and gRPC to be served');
  }
  if (resolved.maxPendingBytes < resolved.maxBodyBytes) {
    throw invalid(
      `Expected 'maxPendingBytes' to be at least 'maxBodyBytes', ${resolved.maxBodyBytes}, got ${resolved.maxPendingBytes}`,
    );
  }
  for (const origin of options.corsOrigins ?? []) {
    if (origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)) continue;
    throw invalid(
      `Expected 'corsOrigins' to hold origins such as https://app.example.com, or *, got '${origin}'`,
    );
  }
  refuseOpenDoor(resolved);
  return resolved;
}

function wholes(options: CollectorOptions): Record<Whole, number> {
  const names = Object.keys(DEFAULTS) as Whole[];
  return Object.fromEntries(
    names.map((name) => [name, wholeNumber(name, options[name] ?? DEFAULTS[name], 1)]),
  ) as Record<Whole, number>;
}

/** Senders can fill the database, so beyond loopback they must authenticate. */
function refuseOpenDoor({ http, grpc, tokens = [], tls, insecure }: ResolvedCollectorOptions): void {
  if (insecure === true || tokens.length > 0 || tls?.clientCa !== undefined) return;
  for (const address of [http, grpc]) {
    if (address === undefined || isLoopback(address.host)) continue;
    throw invalid(
      `Anybody could send to ${address.host}: give a token (--token-file) or an authority of client certificates ` +
        '(--tls-client-ca), listen at 127.0.0.1, or say --insecure where the network itself keeps others out',
    );
  }
}

function invalid(message: string): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', message);
}
