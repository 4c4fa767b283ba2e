import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, ObservatoryError } from '../base/index.ts';
import { spansIn } from './record.ts';
import { REFUSED_FILE } from './refused-log.ts';
import { SEGMENT_SUFFIX } from './spool-directory.ts';
import { UNREADABLE_FOLDER } from './unreadable.ts';

/** Contents of a spool folder, for all processes that share it. */
export interface SpoolStatus {
  /** Spans waiting to be sent. */
  readonly spans: number;
  readonly files: number;
  /** Size of these files, in bytes. */
  readonly bytes: number;
  /** Start time of the oldest file, ISO 8601 UTC; null when there is none. */
  readonly oldest: string | null;
  /** Size of the folder `unreadable`, in bytes. */
  readonly unreadableBytes: number;
  /** Size of the file of spans that the back end refused for good, in bytes; 0 when there is none. */
  readonly refusedBytes: number;
}

/**
 * Reads the status of a spool, which may be in use. It reads every file, one at a time.
 * @throws ObservatoryError `INVALID_OPTION` for a missing folder.
 */
export async function spoolStatus(directory: string): Promise<SpoolStatus> {
  const owners = await readdir(directory).catch((cause: unknown) => {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `The spool ${directory} cannot be read: ${errorMessage(cause)}. ` +
        "Give the folder of a DurableSpanProcessor's spool",
      { cause },
    );
  });
  let spans = 0;
  let files = 0;
  let bytes = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const owner of owners) {
    if (owner === UNREADABLE_FOLDER) continue;
    // Ignore other entries than folders, and files that were sent and removed in the meantime.
    for (const name of await readdir(join(directory, owner)).catch(() => [])) {
      if (!name.endsWith(SEGMENT_SUFFIX)) continue;
      const content = await readFile(join(directory, owner, name)).catch(() => undefined);
      if (content === undefined) continue;
      files += 1;
      bytes += content.length;
      spans += spansIn(content);
      oldest = Math.min(oldest, Number.parseInt(name, 10));
    }
  }
  const refused = await stat(join(directory, REFUSED_FILE)).catch(() => undefined);
  return {
    spans,
    files,
    bytes,
    oldest: Number.isFinite(oldest) ? new Date(oldest).toISOString() : null,
    unreadableBytes: await bytesIn(join(directory, UNREADABLE_FOLDER)),
    refusedBytes: refused?.size ?? 0,
  };
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    bytes += (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0;
  }
  return bytes;
}
