import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import { diag } from '@opentelemetry/api';
import { errorMessage } from '../base/index.ts';
import type { OtlpOptions } from '../durable/index.ts';
import { encodeSpans } from '../durable/index.ts';
import { openCalls } from '../instrumentation/index.ts';
import type { ExportQueue } from './export-queue.ts';
import type { ResolvedStartOptions } from './options.ts';

/** Spans as `encodeSpans` has made them, and where they go: what a process of its own needs to send them. */
export interface LastExport {
  readonly otlp?: { readonly options: OtlpOptions; readonly spans: Uint8Array } | undefined;
  readonly postgres?:
    | { readonly connection: string; readonly migrate: boolean; readonly spans: Uint8Array }
    | undefined;
}

/** The exporter tries again until its time is over, while the application waits to be gone. */
const OTLP_TIMEOUT_MS = 2_000;

const PROGRAM = fileURLToPath(new URL('./last-export-process.js', import.meta.url));

/** Queues by where their spans go. */
interface Queues {
  readonly postgres: ExportQueue | undefined;
  readonly otlp: ExportQueue | undefined;
}

/**
 * Sends what is unsent before it returns: after `process.exit()` or an exception that nobody caught there is no event
 * loop to wait with, so a second process does it. A program that is packed into one executable cannot start one, and
 * no other process can write to a database that the application has opened.
 */
export function exportNow(queues: Queues, options: ResolvedStartOptions, deadlineMs: number): void {
  try {
    openCalls.abandonAll();
    const last = lastExport(queues, options);
    if (last.otlp === undefined && last.postgres === undefined) return;
    if (!/^node(?:js)?(?:\.exe)?$/.test(basename(process.execPath)))
      throw new Error('this is no plain Node.js');
    send(last, deadlineMs);
  } catch (error) {
    const why = errorMessage(error);
    diag.warn(`mcp-observatory: the process has ended before its last spans were sent: ${why}`);
  }
}

function lastExport(queues: Queues, { postgres, migrate, otlp }: ResolvedStartOptions): LastExport {
  const unsent = (queue: ExportQueue | undefined): Uint8Array | undefined => {
    const spans = queue?.takeUnsent() ?? [];
    return spans.length === 0 ? undefined : encodeSpans(spans);
  };
  const stored = typeof postgres === 'string' ? unsent(queues.postgres) : undefined;
  const sent = unsent(queues.otlp);
  return {
    ...(stored === undefined ? {} : { postgres: { connection: postgres as string, migrate, spans: stored } }),
    ...(sent === undefined ? {} : { otlp: { options: otlp ?? {}, spans: sent } }),
  };
}

/** @throws Error when the process was not started, or did not send everything in time. */
function send(last: LastExport, deadlineMs: number): void {
  // The application's own `--import`s and `--inspect` are not for this process.
  const { NODE_OPTIONS: _, ...env } = process.env;
  env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT = String(Math.min(OTLP_TIMEOUT_MS, deadlineMs));
  const { status, error } = spawnSync(process.execPath, [PROGRAM], {
    env,
    input: serialize(last),
    // Its stdout, were there any, would be the application's.
    stdio: ['pipe', 'ignore', 'ignore'],
    timeout: Math.max(1, deadlineMs),
    killSignal: 'SIGKILL',
    windowsHide: true,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error('they were not taken');
}
