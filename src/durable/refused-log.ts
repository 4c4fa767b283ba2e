import { appendFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { makePrivateFolder } from '../base/index.ts';
import { encodeRecord } from './record.ts';

/** Beyond this size refused spans are only counted. */
const MAX_BYTES = 64 * 1024 * 1024;

/** File for the refused spans of all processes: one JSON line each, with the error and the span's bytes. */
export const REFUSED_FILE = 'refused.jsonl';

/**
 * Keeps spans that a back end has refused for good, with its error, for inspection. Each line has `time`, `error`,
 * `trace_id`, `span_id`, `name` and `record`, the span in spool format as base64.
 *
 * @returns how many were kept. File system errors are ignored.
 */
export async function keepRefused(
  directory: string,
  spans: readonly ReadableSpan[],
  error: Error,
): Promise<number> {
  const path = join(directory, REFUSED_FILE);
  let kept = 0;
  try {
    await makePrivateFolder(directory);
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
    // The caller counts it as refused; keeping it is best effort.
  }
  return kept;
}
