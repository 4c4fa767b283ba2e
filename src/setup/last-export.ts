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
import { EXIT_WHILE_MIGRATING_MS } from './exit.ts';
import type { RunningMetrics } from './meter-provider.ts';
import type { ResolvedStartOptions } from './options.ts';

/** The remaining data by destination, as input of the export process: OTLP requests in protobuf. */
export interface LastExport {
  readonly otlp?: OtlpRequest | undefined;
  readonly metrics?: OtlpRequest | undefined;
  readonly postgres?:
    | {
        readonly connection: string;
        readonly migrate: boolean;
        readonly requests: readonly Uint8Array[];
        /** When the process ends itself, in milliseconds from its start, unless it is creating tables then. */
        readonly limitMs: number | undefined;
      }
    | undefined;
}

/** The export process's report on a part. */
export interface PartResult {
  readonly part: keyof LastExport;
  /** Why it was not accepted; absent if it was. */
  readonly failure?: string | undefined;
}

/** Characters quoted of an export process that failed as a whole. */
const MAX_SAID = 500;

/** Spans of one request to the database. */
const BATCH = 512;

export interface Destinations {
  readonly postgres?: DurableSpanProcessor | undefined;
  readonly otlp?:
    | { readonly processor: DurableSpanProcessor; readonly exporter: OtlpSpanExporter }
    | undefined;
  readonly metrics?: RunningMetrics | undefined;
  /** Processors that spans pass before they are exported. */
  readonly enrichment?: DeferredEnrichment | undefined;
}

/** Spans that a processor could not make safe. */
interface Unsent {
  readonly processor: DurableSpanProcessor;
  readonly spans: readonly ReadableSpan[];
}

/**
 * Keeps unsent spans when there is no event loop any more: after `process.exit()` or an uncaught exception. They are
 * written to the spool; without one, a second process sends them, unless the back end was known to be down. It sends
 * the metrics too. A single-executable application cannot start one, and an embedded database opened by the application
 * is closed to other processes. What is lost is logged.
 */
export function exportNow(to: Destinations, options: ResolvedStartOptions, deadlineMs: number): void {
  try {
    openCalls.abandonAll();
    to.enrichment?.settleNow();
  } catch (error) {
    diag.warn(`mcp-observatory: spans could not be finished at exit: ${errorMessage(error)}`);
  }
  const stored = to.postgres && toUnsent(to.postgres);
  const sent = to.otlp && toUnsent(to.otlp.processor);
  const failures: Failures = {};
  const prepare = <T>(part: keyof LastExport, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      failures[part] = errorMessage(error);
      return undefined;
    }
  };
  const last: LastExport = {
    postgres: prepare('postgres', () => toRows(stored, options, deadlineMs)),
    otlp: prepare('otlp', () => requestBy(to.otlp?.exporter, sent)),
    // Their receiver is that of the spans.
    metrics: prepare('metrics', () =>
      to.otlp?.processor.stats.isBackEndDown === true ? undefined : to.metrics?.requestNow(),
    ),
  };
  Object.assign(failures, findFailures(last, deadlineMs));
  for (const [unsent, failure] of [
    [stored, failures.postgres],
    [sent, failures.otlp],
  ] as const) {
    if (unsent === undefined) continue;
    const { processor, spans } = unsent;
    processor.tellEnd(failure === undefined ? 0 : spans.length, `the process ended first: ${failure}`);
  }
  if (failures.metrics !== undefined)
    diag.warn(`mcp-observatory: the last metrics were not sent: ${failures.metrics}`);
}

type Failures = { -readonly [Part in keyof LastExport]?: string | undefined };

function findFailures(last: LastExport, deadlineMs: number): Failures {
  const isEmpty = Object.values(last).every((part) => part === undefined);
  if (isEmpty) return {};
  if (deadlineMs <= 0) return ofSpans(last, 'no time was left');
  if (!/^node(?:js)?(?:\.exe)?$/.test(basename(process.execPath)))
    return ofSpans(last, 'this is no plain Node.js');
  try {
    return send(last, deadlineMs);
  } catch (error) {
    return ofSpans(last, errorMessage(error));
  }
}

/** The same reason for all spans. */
function ofSpans({ postgres, otlp }: LastExport, why: string): Failures {
  return { ...(postgres && { postgres: why }), ...(otlp && { otlp: why }) };
}

function toRows(
  stored: Unsent | undefined,
  { postgres: connection, migrate, exitDeadlineMs }: ResolvedStartOptions,
  deadlineMs: number,
): LastExport['postgres'] {
  if (stored === undefined || stored.spans.length === 0) return undefined;
  if (typeof connection !== 'string') throw new Error('the database is open in this process alone');
  const limitMs = migrate && exitDeadlineMs === undefined ? deadlineMs : undefined;
  return { connection, migrate, requests: listRequests(stored.spans), limitMs };
}

function requestBy(
  exporter: OtlpSpanExporter | undefined,
  sent: Unsent | undefined,
): OtlpRequest | undefined {
  if (sent === undefined || sent.spans.length === 0) return undefined;
  const request = exporter?.requestOf?.([...sent.spans]);
  if (request === undefined) throw new Error('the exporter cannot be used by another process');
  return request;
}

/** Several, because each is read up to a limit. */
function listRequests(spans: readonly ReadableSpan[]): Uint8Array[] {
  const requests: Uint8Array[] = [];
  for (let i = 0; i < spans.length; i += BATCH) requests.push(encodeProtobuf(spans.slice(i, i + BATCH)));
  return requests;
}

function toUnsent(processor: DurableSpanProcessor): Unsent {
  const spans = processor.endNow();
  if (spans.length === 0 || !processor.stats.isBackEndDown) return { processor, spans };
  processor.tellEnd(spans.length, 'the back end is down');
  return { processor, spans: [] };
}

/** @throws Error when the process was not started. */
function send(last: LastExport, deadlineMs: number): Failures {
  // Do not pass on the application's `--import` and `--inspect`.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const program = fileURLToPath(new URL('./last-export-process.js', import.meta.url));
  const { error, signal, stdout, stderr } = spawnSync(process.execPath, [program], {
    env,
    input: serialize(last),
    // Nothing of it reaches the application's output; warnings of packages go to stderr.
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: last.postgres?.limitMs === undefined ? Math.max(1, deadlineMs) : EXIT_WHILE_MIGRATING_MS,
    killSignal: 'SIGKILL',
    windowsHide: true,
  });
  if (error !== undefined && !('code' in error && error.code === 'ETIMEDOUT')) throw error;
  const why =
    signal === 'SIGKILL'
      ? `this took more than ${deadlineMs} ms, see MCP_OBSERVATORY_EXIT_DEADLINE_MS`
      : stderr.toString().trim().slice(0, MAX_SAID) || 'they were not taken';
  const failures = ofSpans(last, why);
  // The last line may be cut off.
  for (const line of stdout.toString().split('\n').slice(0, -1)) {
    const { part, failure } = JSON.parse(line) as PartResult;
    failures[part] = failure;
  }
  return failures;
}
