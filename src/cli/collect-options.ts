import { readFile } from 'node:fs/promises';
import type { Address, CollectorOptions } from '../collector/index.ts';
import {
  type CommandIo,
  findDatabaseUrl,
  numberFlag,
  readFlags,
  sizeFlag,
  usageError,
} from './command-line/index.ts';

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/;

/** The parsed command line of `collect`. */
export interface CollectUsage {
  readonly options: CollectorOptions;
  /** Full URL of the destination of the collector's own metrics. */
  readonly metricsUrl: string | undefined;
  readonly json: boolean;
}

/** @throws ObservatoryError `INVALID_OPTION` for what cannot be used. */
export async function readCollectOptions(
  args: readonly string[],
  io: Pick<CommandIo, 'env' | 'stderr'>,
): Promise<CollectUsage> {
  const { values } = readFlags(args, FLAGS);
  const { env } = io;
  const from = (name: string): string | undefined => env[name]?.trim() || undefined;
  const forward = values.forward ?? from('MCP_OBSERVATORY_FORWARD_URL');
  const options: CollectorOptions = {
    ...(await toDatabase(values, io)),
    migrate: values['no-migrate'] !== true,
    connections: count('connections', values.connections),
    http: addressOrOff('http', values.http ?? from('MCP_OBSERVATORY_HTTP')),
    grpc: addressOrOff('grpc', values.grpc ?? from('MCP_OBSERVATORY_GRPC')),
    health: values.health === undefined ? undefined : address('health', values.health),
    spool: values.spool ?? from('MCP_OBSERVATORY_SPOOL'),
    spoolMaxBytes: sizeFlag('--spool-size', values['spool-size']),
    tokens: await readTokens(values['token-file'], from('MCP_OBSERVATORY_TOKEN')),
    corsOrigins: findList(values['cors-origins'] ?? from('MCP_OBSERVATORY_CORS_ORIGINS')),
    tls: toTls(values),
    insecure: values.insecure,
    captureContent: values['capture-content'],
    keepAttributes: findList(values['keep-attributes']),
    forward: forward === undefined ? undefined : { url: url('forward', forward) },
    maxBodyBytes: sizeFlag('--max-body', values['max-body']),
    maxSpans: count('max-spans', values['max-spans']),
    maxRequests: count('max-requests', values['max-requests']),
    maxPendingBytes: sizeFlag('--max-memory', values['max-memory']),
    maxPendingSpans: count('max-waiting', values['max-waiting']),
    drainTimeoutMs: secondsToMs(count('drain-timeout', values['drain-timeout'])),
  };
  const metricsUrl = values['metrics-url'] ?? from('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT');
  return {
    options,
    metricsUrl: metricsUrl === undefined ? undefined : url('metrics-url', metricsUrl),
    json: values.json === true,
  };
}

const FLAGS = {
  'database-url': { type: 'string' },
  'clickhouse-url': { type: 'string' },
  'no-migrate': { type: 'boolean' },
  connections: { type: 'string' },
  http: { type: 'string' },
  grpc: { type: 'string' },
  health: { type: 'string' },
  spool: { type: 'string' },
  'spool-size': { type: 'string' },
  'token-file': { type: 'string' },
  'cors-origins': { type: 'string' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'tls-client-ca': { type: 'string' },
  insecure: { type: 'boolean' },
  'capture-content': { type: 'boolean' },
  'keep-attributes': { type: 'string' },
  forward: { type: 'string' },
  'metrics-url': { type: 'string' },
  'max-body': { type: 'string' },
  'max-spans': { type: 'string' },
  'max-requests': { type: 'string' },
  'max-memory': { type: 'string' },
  'max-waiting': { type: 'string' },
  'drain-timeout': { type: 'string' },
  json: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof readFlags<typeof FLAGS>>['values'];

/** A flag goes before the environment, and there ClickHouse, whose variable is for this alone, before Postgres. */
async function toDatabase(
  values: Values,
  io: Pick<CommandIo, 'env' | 'stderr'>,
): Promise<Pick<CollectorOptions, 'databaseUrl' | 'clickhouseUrl'>> {
  const { 'database-url': postgres, 'clickhouse-url': clickhouse } = values;
  if (postgres !== undefined && clickhouse !== undefined) {
    throw usageError('Expected one database to write to: either --database-url or --clickhouse-url');
  }
  const clickhouseUrl =
    clickhouse ??
    (postgres === undefined ? io.env.MCP_OBSERVATORY_CLICKHOUSE_URL?.trim() || undefined : undefined);
  if (clickhouseUrl !== undefined) return { clickhouseUrl };
  const databaseUrl = await findDatabaseUrl({ 'database-url': postgres }, io);
  if (databaseUrl !== undefined) return { databaseUrl };
  throw usageError(
    'Expected the database to write to: --database-url or MCP_OBSERVATORY_DATABASE_URL for Postgres, --clickhouse-url or ' +
      'MCP_OBSERVATORY_CLICKHOUSE_URL for ClickHouse. The embedded database does not force what it writes to the disk, ' +
      'so nothing could be acknowledged',
  );
}

function toTls(values: Values): CollectorOptions['tls'] {
  const { 'tls-cert': cert, 'tls-key': key, 'tls-client-ca': clientCa } = values;
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  throw usageError('Expected --tls-cert and --tls-key together; --tls-client-ca needs both');
}

/** Tokens, one per line; empty lines and lines starting with # are ignored. */
async function readTokens(
  file: string | undefined,
  token: string | undefined,
): Promise<string[] | undefined> {
  if (file === undefined) return token === undefined ? undefined : [token];
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw usageError(`Cannot read the file of --token-file: ${error.message}`);
  });
  const tokens = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (tokens.length > 0) return tokens;
  throw usageError(`Expected a token in ${file}, one a line`);
}

function addressOrOff(flag: string, text: string | undefined): Address | false | undefined {
  if (text === undefined) return undefined;
  return text === 'off' ? false : address(flag, text);
}

function address(flag: string, text: string): Address {
  const [, v6, host, port] = ADDRESS.exec(text) ?? [];
  if (Number(port) <= 65_535) return { host: (v6 ?? host) as string, port: Number(port) };
  throw usageError(
    `Expected --${flag} to be HOST:PORT, for instance 127.0.0.1:4318 or [::1]:4318, got '${text}'`,
  );
}

function url(flag: string, text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw usageError(`Expected --${flag} to be a URL, for instance http://localhost:4318/v1/traces`);
}

function count(flag: string, text: string | undefined): number | undefined {
  return numberFlag(`--${flag}`, text, { from: 1, whole: true });
}

function findList(text: string | undefined): string[] | undefined {
  return text?.split(',').map((item) => item.trim());
}

function secondsToMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}
