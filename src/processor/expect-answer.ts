import { interactionKind, type SpanView } from '../interaction/index.ts';
import { warmEvidence } from '../signals/index.ts';

let isExpected = false;

/** Prepares the scores of answers as the first span begins that may end with one. */
export function expectAnswer(span: SpanView, isScored: boolean): void {
  if (isExpected || !isScored) return;
  const kind = interactionKind(span);
  if (kind === undefined || kind === 'tool') return;
  isExpected = true;
  warmEvidence();
}
