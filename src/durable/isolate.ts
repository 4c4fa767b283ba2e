import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type DeliveryOutcome, isOutOfOrder } from './back-end.ts';

/** Failed exports before the search is aborted; one bad span among 512 costs ten. */
const MAX_FAILED_EXPORTS = 100;

/** Spans refused by the back end, with the error. */
export interface RefusedSpans {
  readonly spans: readonly ReadableSpan[];
  readonly error: Error;
}

/** Result of a search. */
export interface Isolation {
  readonly refused: readonly RefusedSpans[];
  /** Not stored, and not known to be bad. */
  readonly unsent: readonly ReadableSpan[];
}

/**
 * Bisects a failing batch for its bad spans and stores all others. A span counts as bad only if it failed alone while
 * another export succeeded, so that a failing back end does not make all spans look bad.
 *
 * @param send exports spans.
 * @param isBackEndFine whether another export has succeeded since this batch first failed.
 */
export async function isolate(
  batch: readonly ReadableSpan[],
  send: (spans: readonly ReadableSpan[]) => Promise<DeliveryOutcome>,
  isBackEndFine: () => boolean,
): Promise<Isolation> {
  const refused: RefusedSpans[] = [];
  const suspects: RefusedSpans[] = [];
  let isAnyStored = false;
  let failures = 0;
  const parts: (readonly ReadableSpan[])[] = halves(batch);
  while (parts.length > 0 && failures < MAX_FAILED_EXPORTS) {
    const part = parts.pop() as readonly ReadableSpan[];
    const outcome = await send(part);
    if (outcome.kind !== 'failed') {
      isAnyStored ||= outcome.kind === 'stored' || outcome.spans.length < part.length;
      if (outcome.kind === 'refused') refused.push(outcome);
      continue;
    }
    failures += 1;
    if (isOutOfOrder(outcome.error)) {
      parts.push(part);
      break;
    }
    if (part.length > 1) parts.push(...halves(part));
    else suspects.push({ spans: part, error: outcome.error });
  }
  if (isAnyStored || isBackEndFine()) refused.push(...suspects.splice(0));
  return { refused, unsent: [...suspects.flatMap(({ spans }) => spans), ...parts.flat()] };
}

/** The second half first, because parts are popped from the end. */
function halves(spans: readonly ReadableSpan[]): (readonly ReadableSpan[])[] {
  const middle = (spans.length + 1) >> 1;
  return [spans.slice(middle), spans.slice(0, middle)].filter((half) => half.length > 0);
}
