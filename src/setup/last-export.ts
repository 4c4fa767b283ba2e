import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import { diag } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { errorMessage } from '../base/index.ts';
import type { DurableSpanProcessor, OtlpRequest, OtlpSpanExporter } from '../durable/index.ts';
import { openCalls } from '../instrumentation/index.ts';
import { encodeProtobuf } from '../otlp/index.ts';
import type { DeferredEnrichment } from '../processor/index.ts';
import type { RunningMetrics } from './meter-provider.ts';
import type { ResolvedStartOptions } from './options.ts';

/** What is left to send, by destination, as input of the export process: OTLP requests in protobuf. */
export interface LastExport {
  readonly otlp?: OtlpRequest | undefined;
  readonly metrics?: OtlpRequest | undefined;
  readonly postgres?:
    | { readonly connection: string; readonly migrate: boolean; readonly requests: readonly Uint8Array[] }
    | undefined;
}

/** Spans of one request to the database. */
const BATCH = 512;

/** What exports, by destination. */
export interface Destinations {
  readonly postgres?: DurableSpanProcessor | undefined;
  readonly otlp?:
    | { readonly processor: DurableSpanProcessor; readonly exporter: OtlpSpanExporter }
    | undefined;
  readonly metrics?: RunningMetrics | undefined;
  /** What spans pass through before they are exported. */
  readonly enrichment?: DeferredEnrichment | undefined;
}

/**
 * Keeps unsent spans when there is no event loop any more: after `process.exit()` or an uncaught exception. They are
 * written to the spool; without one, a second process sends them, unless the back end was known to be down. It sends
 * the metrics too. A
 * single-executable application cannot start one, and an embedded database opened by the application is closed to other
 * processes.
 */
export function exportNow(to: Destinations, options: ResolvedStartOptions, deadlineMs: number): void {
  try {
    openCalls.abandonAll();
    to.enrichment?.settleNow();
    const last = lastExport(to, options);
    if (Object.values(last).every((part) => part === undefined)) return;
    if (deadlineMs <= 0) throw new Error('no time was left');
    if (!/^node(?:js)?(?:\.exe)?$/.test(basename(process.execPath)))
      throw new Error('this is no plain Node.js');
    send(last, deadlineMs);
  } catch (error) {
    lost(errorMessage(error));
  }
}

function lastExport(
  { postgres, otlp, metrics }: Destinations,
  { postgres: connection, migrate }: ResolvedStartOptions,
): LastExport {
  const stored = postgres === undefined ? [] : unsentOf(postgres);
  const sent = otlp === undefined ? [] : unsentOf(otlp.processor);
  const request = sent.length === 0 ? undefined : otlp?.exporter.requestOf?.([...sent]);
  if (sent.length > 0 && request === undefined)
    lost(`${sent.length} spans cannot be sent by another process`);
  return {
    ...(stored.length === 0 || typeof connection !== 'string'
      ? {}
      : { postgres: { connection, migrate, requests: requestsOf(stored) } }),
    otlp: request,
    // Their receiver is that of the spans.
    metrics: otlp?.processor.stats.isBackEndDown === true ? undefined : metrics?.requestNow(),
  };
}

/** Several, because what is read from one is limited. */
function requestsOf(spans: readonly ReadableSpan[]): Uint8Array[] {
  const requests: Uint8Array[] = [];
  for (let i = 0; i < spans.length; i += BATCH) requests.push(encodeProtobuf(spans.slice(i, i + BATCH)));
  return requests;
}

function unsentOf(processor: DurableSpanProcessor): readonly ReadableSpan[] {
  const spans = processor.endNow();
  if (spans.length === 0 || !processor.stats.isBackEndDown) return spans;
  lost(`${spans.length} spans were dropped because the back end is down`);
  return [];
}

function lost(why: string): void {
  diag.warn(`mcp-observatory: the process has ended before its last spans were sent: ${why}`);
}

/** @throws Error when the process was not started, or did not send everything in time. */
function send(last: LastExport, deadlineMs: number): void {
  // Do not pass on the application's `--import` and `--inspect`.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const program = fileURLToPath(new URL('./last-export-process.js', import.meta.url));
  const { status, error, stderr } = spawnSync(process.execPath, [program], {
    env,
    input: serialize(last),
    // It must not write to the application's stdout.
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: Math.max(1, deadlineMs),
    killSignal: 'SIGKILL',
    windowsHide: true,
  });
  if (error !== undefined) {
    throw 'code' in error && error.code === 'ETIMEDOUT'
      ? new Error(`this took more than ${deadlineMs} ms`)
      : error;
  }
  if (status !== 0) throw new Error(stderr.toString().trim().slice(0, 500) || 'they were not taken');
}
