import { ObservatoryError } from '../../base/index.ts';
import type { DriftRule, DriftStatus, PromptDrift } from './types.ts';

/** @throws ObservatoryError `INVALID_OPTION` for an invalid limit. */
export function checkRule(rule: DriftRule): DriftRule {
  check('failOver', rule.failOver, 1);
  check('failOverGrowth', rule.failOverGrowth);
  check('minPrompts', rule.minPrompts);
  return rule;
}

/** The status of one service and tool. */
export function driftStatusOf(group: Omit<PromptDrift, 'status'>, rule: DriftRule): DriftStatus {
  if (group.baselinePrompts === 0) return 'no_baseline';
  if (group.prompts < (rule.minPrompts ?? 20)) return 'few';
  const share = rule.countTemplateChanges === true ? group.newShare : group.driftShare;
  if (rule.failOver !== undefined && share > rule.failOver) return 'drift';
  const { growth } = group;
  return rule.failOverGrowth !== undefined && growth !== null && growth > rule.failOverGrowth
    ? 'drift'
    : 'ok';
}

function check(name: string, value: unknown, most = Number.MAX_VALUE): void {
  if (value === undefined || (typeof value === 'number' && value >= 0 && value <= most)) return;
  const range = most === 1 ? 'from 0 to 1' : 'from 0 up';
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected \`${name}\` to be a number ${range}, got ${String(value)}`,
  );
}
