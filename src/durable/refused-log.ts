import { appendFile, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { encodeRecord } from './record.ts';

/** Beyond this size nothing more is kept of refused spans but their number. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Where refused spans of all processes are kept: one JSON line each, with the error and the span's bytes. */
export const REFUSED_FILE = 'refused.jsonl';

/**
 * Sets spans aside that a back end will never take, with its error, so that a person can look. Each line has `time`,
 * `error`, `trace_id`, `span_id`, `name` and `record`, the span as the spool writes it, in base64.
 *
 * @returns how many were kept; the file system's errors are not told, because there is nowhere left to go.
 */
export async function keepRefused(
  directory: string,
  spans: readonly ReadableSpan[],
  error: Error,
): Promise<number> {
  const path = join(directory, REFUSED_FILE);
  let kept = 0;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (const span of spans) {
      const { size } = await stat(path).catch(() => ({ size: 0 }));
      if (size > MAX_BYTES) break;
      const { traceId, spanId } = span.spanContext();
      const line = JSON.stringify({
        time: new Date().toISOString(),
        error: error.message,
        trace_id: traceId,
        span_id: spanId,
        name: span.name,
        record: (await encodeRecord([span])).toString('base64'),
      });
      await appendFile(path, `${line}\n`, { mode: 0o600 });
      kept += 1;
    }
  } catch {
    // Counted by the caller as refused; whether it is kept as well is only a help.
  }
  return kept;
}
