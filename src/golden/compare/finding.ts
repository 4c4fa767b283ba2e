/**
 * Impact of a difference on a program written against the old recording:
 * - `info`: nothing breaks (a new field).
 * - `warning`: something may break (a removed field, many more tokens).
 * - `failure`: something breaks, or the model behaves differently (a changed type, a different call).
 */
export type DriftLevel = 'info' | 'warning' | 'failure';

/** One difference between an old recording and a new one. */
export interface DriftFinding {
  readonly level: DriftLevel;
  /** Such as `response.choices[].message.refusal` or `exchange 2`. */
  readonly place: string;
  readonly message: string;
  /** Exchanges it was seen in, from 1; empty if it concerns the whole recording. */
  readonly exchanges: readonly number[];
}

/** A finding. @param exchanges it was seen in; none if it concerns the whole recording. */
export function findingAt(
  level: DriftLevel,
  place: string,
  message: string,
  ...exchanges: readonly number[]
): DriftFinding {
  return { level, place, message, exchanges };
}

const WEIGHT: Readonly<Record<DriftLevel, number>> = { failure: 0, warning: 1, info: 2 };

/** Merges equal findings of several exchanges. Sorted by level, highest first. */
export function gatherFindings(findings: readonly DriftFinding[]): DriftFinding[] {
  const known = new Map<string, DriftFinding>();
  for (const finding of findings) {
    const key = JSON.stringify([finding.level, finding.place, finding.message]);
    const before = known.get(key);
    const exchanges = [...(before?.exchanges ?? []), ...finding.exchanges];
    known.set(key, { ...finding, exchanges: [...new Set(exchanges)] });
  }
  return [...known.values()].sort((a, b) => WEIGHT[a.level] - WEIGHT[b.level]);
}
