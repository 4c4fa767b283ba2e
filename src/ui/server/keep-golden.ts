import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makePrivateFolder, ObservatoryError } from '../../base/index.ts';
import { goldenFromTrace } from '../../golden/index.ts';
import { canonicalUuid, type Queryable } from '../../postgres/index.ts';

/** A golden that was kept: its name below the folder, and its file. */
export interface KeptGolden {
  readonly name: string;
  readonly file: string;
  /** False where the run had been kept before; that golden stays. */
  readonly isNew: boolean;
  /** What it lacks, where it was made now. */
  readonly description?: string;
}

/** Largest run that is repeated by the process of the page: beyond it, the command does. */
const MAX_SPANS = 5_000;
const MAX_CHARS = 32_000_000;

/** A golden is made by repeating its run against local servers: one at a time. */
let making: Promise<KeptGolden> | undefined;

/**
 * Makes a golden of a run, below the folder that runs are compared with. One that is there stays.
 * @throws ObservatoryError `TRACE_UNUSABLE` for a run without captured content, or too large, with what to do;
 * `INVALID_INPUT` while another one is made.
 */
export async function keepGolden(db: Queryable, folder: string, traceId: string): Promise<KeptGolden> {
  const name = `runs/trace_${traceId.slice(0, 16)}`;
  const file = join(folder, `${name}.json`);
  if (making !== undefined) {
    throw new ObservatoryError('INVALID_INPUT', 'Another golden is being made: try again when it is done');
  }
  making = access(file).then(
    () => ({ name, file, isNew: false }),
    async () => {
      await checkSize(db, traceId);
      await makePrivateFolder(dirname(file));
      const { description } = await goldenFromTrace(db, {
        traceId,
        path: file,
        testName: name.split('/')[1],
      });
      return { name, file, isNew: true, description };
    },
  );
  try {
    return await making;
  } finally {
    making = undefined;
  }
}

async function checkSize(db: Queryable, traceId: string): Promise<void> {
  const { rows } = await db.query(
    `SELECT count(*)::text AS spans, coalesce(sum(length(attributes::text)), 0)::text AS chars
      FROM mcp_traces WHERE trace_id = $1::text::uuid`,
    [canonicalUuid(traceId)],
  );
  const [spans, chars] = [Number(rows[0]?.spans), Number(rows[0]?.chars)];
  if (spans <= MAX_SPANS && chars <= MAX_CHARS) return;
  const size = `${spans} spans and ${Math.ceil(chars / 1e6)} MB`;
  const most = `${MAX_SPANS} spans and ${MAX_CHARS / 1e6} MB`;
  throw new ObservatoryError(
    'TRACE_UNUSABLE',
    `The run has ${size}; the page keeps runs of at most ${most}. 'golden from-trace' keeps any.`,
  );
}
