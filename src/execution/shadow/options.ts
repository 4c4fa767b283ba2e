import { invalidOption } from '../../base/index.ts';
import type { ShadowLimits } from './types.ts';

const DAY_MS = 86_400_000;

/** Node's timers fire at once for longer times. */
const LONGEST_MS = 2_147_483_647;

export type ResolvedLimits = { readonly [K in keyof ShadowLimits]-?: number };

/** @throws ObservatoryError `INVALID_OPTION` that names the option, the value and what is expected. */
export function resolveLimits(limits: ShadowLimits): ResolvedLimits {
  return {
    maxConcurrency: checkNumber('maxConcurrency', limits.maxConcurrency ?? 4, 0, Number.MAX_SAFE_INTEGER),
    budgetUsd: checkNumber('budgetUsd', limits.budgetUsd ?? Number.POSITIVE_INFINITY, 0),
    budgetWindowMs: checkNumber('budgetWindowMs', limits.budgetWindowMs ?? DAY_MS, 1),
    assumedCostUsd: checkNumber('assumedCostUsd', limits.assumedCostUsd ?? 0.01, 0),
    timeoutMs: checkNumber('timeoutMs', limits.timeoutMs ?? 60_000, 1, LONGEST_MS),
  };
}

/** @throws ObservatoryError `INVALID_OPTION`. */
export function checkNumber(
  name: string,
  value: unknown,
  least: number,
  most = Number.POSITIVE_INFINITY,
): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  const range = most === Number.POSITIVE_INFINITY ? `from ${least} up` : `from ${least} to ${most}`;
  throw invalidOption(`\`${name}\``, `a number ${range}`, value);
}
