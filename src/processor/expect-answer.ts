import { warmEvidence } from '../evidence/index.ts';
import type { InteractionKind } from '../interaction/index.ts';

let isExpected = false;

/** Prepares the scores of answers as the first span begins that may end with one. */
export function expectAnswer(kind: InteractionKind | undefined, isScored: boolean): void {
  if (isExpected || !isScored || kind === undefined || kind === 'tool') return;
  isExpected = true;
  void warmEvidence();
}
