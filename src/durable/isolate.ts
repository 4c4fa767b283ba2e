import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type DeliveryOutcome, isOutOfOrder } from './back-end.ts';

/** Failed exports after which the search ends; one span at fault among 512 costs ten. */
const MAX_FAILED_EXPORTS = 100;

/** A span, or the few of a batch, that the back end does not take, and its error. */
export interface RefusedSpans {
  readonly spans: readonly ReadableSpan[];
  readonly error: Error;
}

/** What a search found. */
export interface Isolation {
  readonly refused: readonly RefusedSpans[];
  /** Not stored, and not known to be at fault. */
  readonly unsent: readonly ReadableSpan[];
}

/**
 * Finds the spans for which a batch fails by halving it, and stores all others. A span counts as being at fault only
 * when it failed by itself and another export was taken, so that a back end that fails for all does not look like
 * spans that all are at fault.
 *
 * @param send exports spans.
 * @param isBackEndFine whether another export was taken since this batch failed first.
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

/** The second half first: parts are taken from the end. */
function halves(spans: readonly ReadableSpan[]): (readonly ReadableSpan[])[] {
  const middle = (spans.length + 1) >> 1;
  return [spans.slice(middle), spans.slice(0, middle)].filter((half) => half.length > 0);
}
