/**
 * How much a difference matters to a program that was written against the old recording:
 * - `info`: nothing breaks (a new field).
 * - `warning`: it may (a field that is gone, far more tokens).
 * - `failure`: it does, or the model no longer does what it did (another type, another call).
 */
export type DriftLevel = 'info' | 'warning' | 'failure';

/** One difference between an old recording and a new one. */
export interface DriftFinding {
  readonly level: DriftLevel;
  /** Where, e.g. `response.choices[].message.refusal` or `exchange 2`. */
  readonly place: string;
  readonly message: string;
  /** Exchanges it was seen in, from 1; empty for what concerns the whole recording. */
  readonly exchanges: readonly number[];
}

const WEIGHT: Readonly<Record<DriftLevel, number>> = { failure: 0, warning: 1, info: 2 };

/** Joins what is the same in several exchanges, the gravest first, otherwise in the order found. */
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
