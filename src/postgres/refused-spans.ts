import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { ObservatoryError } from '../base/index.ts';
import { withoutData } from './database-error.ts';
import type { RefusedSpan } from './store.ts';

/**
 * Some spans of an export were refused for what they are, with code `DATABASE_REFUSED`. All others of the export are
 * stored, so sending it again would change nothing.
 */
export class RefusedSpansError extends ObservatoryError {
  /** Private, so that a log of the error does not show what is in the spans. */
  readonly #spans: readonly ReadableSpan[];

  constructor(refused: readonly RefusedSpan[], total: number) {
    const cause = withoutData(refused[0]?.reason);
    super(
      'DATABASE_REFUSED',
      `${refused.length} of ${total} spans were refused and are not stored; the other ${total - refused.length} are. ` +
        `First reason: ${cause.message}`,
      { cause },
    );
    this.name = 'RefusedSpansError';
    this.#spans = refused.map(({ span }) => span);
  }

  /** The spans that are not stored. */
  get refusedSpans(): readonly ReadableSpan[] {
    return this.#spans;
  }
}
