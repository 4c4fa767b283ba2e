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

/** Spans encoded by `encodeSpans` and their destination, as input of the export process. */
export interface LastExport {
  readonly otlp?: { readonly options: OtlpOptions; readonly spans: Uint8Array } | undefined;
  readonly postgres?:
    | { readonly connection: string; readonly migrate: boolean; readonly spans: Uint8Array }
    | undefined;
}

/** The exporter retries until its timeout while the application waits to exit. */
const OTLP_TIMEOUT_MS = 2_000;

const PROGRAM = fileURLToPath(new URL('./last-export-process.js', import.meta.url));

/** Queues by destination. */
interface Queues {
  readonly postgres: ExportQueue | undefined;
  readonly otlp: ExportQueue | undefined;
}

/**
 * Sends unsent spans synchronously: after `process.exit()` or an uncaught exception there is no event loop, so a second
 * process does the work. A single-executable application cannot start one, and an embedded database opened by the
 * application is closed to other processes.
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
  // Do not pass on the application's `--import` and `--inspect`.
  const { NODE_OPTIONS: _, ...env } = process.env;
  env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT = String(Math.min(OTLP_TIMEOUT_MS, deadlineMs));
  const { status, error } = spawnSync(process.execPath, [PROGRAM], {
    env,
    input: serialize(last),
    // It must not write to the application's stdout.
    stdio: ['pipe', 'ignore', 'ignore'],
    timeout: Math.max(1, deadlineMs),
    killSignal: 'SIGKILL',
    windowsHide: true,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error('they were not taken');
}
