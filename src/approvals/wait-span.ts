/** The time that a call waits for a person, which is often most of a run. */
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { errorClass, ObservatoryError, semconv, VERSION } from '../base/index.ts';
import type { FinalOutcome } from './types.ts';

/** Runs a wait inside a span with the review's id and its outcome. */
export function inWaitSpan(id: string, wait: () => Promise<FinalOutcome>): Promise<FinalOutcome> {
  const tracer = trace.getTracer('mcp-observatory/reviews', VERSION);
  const attributes = { 'observatory.review_id': id };
  return tracer.startActiveSpan('review_wait', { attributes }, async (span) => {
    try {
      const outcome = await wait();
      span.setAttribute('observatory.review_status', outcome.status);
      return outcome;
    } catch (error) {
      // Who waits no longer has not failed: the review is open still.
      if (error instanceof ObservatoryError && error.code === 'REVIEW_UNDECIDED')
        span.setAttribute('observatory.review_status', 'pending');
      else {
        span.setAttribute(semconv.ATTR_ERROR_TYPE, errorClass(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      throw error;
    } finally {
      span.end();
    }
  });
}
