import type { Readable } from 'node:stream';
import { importPeer, loadPeer, ObservatoryError, parseDatabaseUrl } from '../base/index.ts';

/** Settings of ClickHouse for one request. */
export type ClickHouseSettings = Readonly<Record<string, string | number>>;

/** A request to ClickHouse; its answer is a stream that must be read to the end. */
interface ClickHouseRequest {
  readonly query: string;
  readonly values?: Readable;
  readonly clickhouse_settings?: ClickHouseSettings;
  readonly abort_signal?: AbortSignal;
}

/** The part of `@clickhouse/client`'s client that is used. */
export interface ClickHouseConnection {
  exec(request: ClickHouseRequest): Promise<{ readonly stream: AsyncIterable<unknown> }>;
  close(): Promise<void>;
}

/** Options of a URL's connection. */
export interface ClickHouseConnectionOptions {
  /** Requests at a time. @defaultValue 4 */
  readonly maxConnections?: number | undefined;
  /** How long to wait for an answer, in milliseconds. @defaultValue 30000 */
  readonly requestTimeoutMs?: number | undefined;
  /** Compress requests with gzip: a tenth of the bytes, for about 15 µs of CPU a span. @defaultValue false */
  readonly compress?: boolean | undefined;
}

/** With its defaults. */
export type ResolvedConnectionOptions = {
  readonly [K in keyof ClickHouseConnectionOptions]-?: NonNullable<ClickHouseConnectionOptions[K]>;
};

/**
 * Opens a connection with the optional package `@clickhouse/client`; the first request connects.
 * @throws ObservatoryError `MISSING_PEER` without it.
 */
export async function openClickHouse(
  url: string,
  options: ResolvedConnectionOptions,
): Promise<ClickHouseConnection> {
  const { createClient, ClickHouseLogLevel } = await loadPeer(
    '@clickhouse/client',
    () => importPeer<typeof import('@clickhouse/client')>('@clickhouse/client'),
    { neededFor: 'ClickHouse' },
  );
  return createClient({
    url,
    application: 'mcp-observatory',
    max_open_connections: options.maxConnections,
    request_timeout: options.requestTimeoutMs,
    compression: { request: options.compress, response: false },
    // It writes to the console; errors are reported through the exporter.
    log: { level: ClickHouseLogLevel.OFF },
  });
}

/**
 * Checks a URL before the client sees it.
 * @returns its name for messages: scheme, user, host, port and database, never the password or the settings.
 * @throws ObservatoryError `INVALID_OPTION` when it cannot be used. The message does not contain it, because the
 *   password cannot be located in it.
 */
export function nameOfClickHouseUrl(text: string): string {
  const url = parseDatabaseUrl(text, ['http:', 'https:']);
  if (url === undefined) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      'The ClickHouse URL cannot be used (not shown here, as it may hold a password). Expected ' +
        'http://user:password@host:8123/database or https://, with special characters in the password percent-encoded',
    );
  }
  const user = url.username === '' ? '' : `${url.username}@`;
  return `clickhouse ${url.protocol}//${user}${url.host}${url.pathname === '/' ? '/default' : url.pathname}`;
}

/** Runs a statement to its end. @returns its answer as text. */
export async function runOnClickHouse(
  connection: ClickHouseConnection,
  request: ClickHouseRequest,
): Promise<string> {
  const { stream } = await connection.exec(request);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString();
}
