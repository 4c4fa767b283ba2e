import { invalidOption, ObservatoryError } from '../../base/index.ts';
import type { Golden } from './format.ts';
import { inspectGolden } from './read.ts';
import { writeGolden } from './write.ts';

export interface ApproveGoldenOptions {
  /** Who has looked at the golden. */
  readonly by: string;
  readonly note?: string | undefined;
  /** @defaultValue the current time */
  readonly at?: Date | undefined;
}

/** Whether a person has approved the golden as it is now; any change since then voids the approval. */
export function isApproved({ approval, checksum }: Golden): boolean {
  return approval !== undefined && approval.sha256 === checksum.sha256;
}

/**
 * Records in a golden that a person has approved its content.
 * @throws ObservatoryError `INVALID_OPTION` without a name; `GOLDEN_EDITED` for one that was edited by hand; the errors
 * of reading.
 */
export async function approveGolden(file: string, options: ApproveGoldenOptions): Promise<Golden> {
  const { by, note, at = new Date() } = options;
  if (typeof by !== 'string' || by.trim() === '') throw invalidOption('`by`', 'the name of a person', by);
  const { golden, problems } = await inspectGolden(file);
  const edited = problems.find(({ code }) => code === 'GOLDEN_EDITED');
  if (edited !== undefined) throw new ObservatoryError('GOLDEN_EDITED', edited.message);
  const approval = {
    by: by.trim(),
    at: at.toISOString(),
    sha256: golden.checksum.sha256,
    ...(note === undefined ? {} : { note }),
  };
  return await writeGolden(file, { ...golden, approval });
}
