import { access, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ObservatoryError } from '../../base/index.ts';
import { goldenFromTrace } from '../../golden/index.ts';
import type { Queryable } from '../../postgres/index.ts';

/** A golden that was kept: its name below the folder, and its file. */
export interface KeptGolden {
  readonly name: string;
  readonly file: string;
}

/** A golden is made by repeating its run against local servers: one at a time. */
let making: Promise<unknown> | undefined;

/**
 * Makes a golden of a run, below the folder that runs are compared with. One that is there stays.
 * @throws ObservatoryError `TRACE_UNUSABLE` for a run without captured content, or not of `mcpGhost`, with what to do;
 * `INVALID_INPUT` while another one is made, or it is there.
 */
export async function keepGolden(db: Queryable, folder: string, traceId: string): Promise<KeptGolden> {
  const name = `runs/trace_${traceId.slice(0, 16)}`;
  const file = join(folder, `${name}.json`);
  if (making !== undefined) {
    throw new ObservatoryError('INVALID_INPUT', 'Another golden is being made: try again when it is done');
  }
  making = access(file).then(
    () => {
      throw new ObservatoryError('INVALID_INPUT', `The run is kept as ${file} already`);
    },
    async () => {
      await mkdir(dirname(file), { recursive: true });
      return goldenFromTrace(db, { traceId, path: file, testName: name.split('/')[1] });
    },
  );
  try {
    await making;
    return { name, file };
  } finally {
    making = undefined;
  }
}
