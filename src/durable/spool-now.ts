import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { makePrivateFolderSync } from '../base/index.ts';
import type { ResolvedSpoolOptions } from './options.ts';
import { type EncodedBatch, encodeBatchNow, recordNow } from './record.ts';
import { nameOfOrphan, nameOfSegment } from './spool-directory.ts';

/**
 * Writes spans to a spool synchronously, for a process that ends now. They are in a folder without an owner, which the
 * next process takes over, because this process may not have opened its own yet.
 * @throws the file system's error.
 */
export function spoolNow(
  { directory, sync }: ResolvedSpoolOptions,
  spans: readonly ReadableSpan[],
  encoded: Iterable<EncodedBatch> = [],
): void {
  const folder = join(directory, nameOfOrphan());
  makePrivateFolderSync(folder);
  const file = openSync(join(folder, nameOfSegment(0)), 'wx', 0o600);
  try {
    for (const batch of encoded) writeFileSync(file, recordNow(batch));
    if (spans.length > 0) writeFileSync(file, recordNow(encodeBatchNow(spans)));
    if (sync === 'always') fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
