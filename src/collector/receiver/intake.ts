import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { DurableSpanWriter } from '../../durable/index.ts';
import { type DecodedRequest, DecodeError, decodeJson, decodeProtobuf } from '../../otlp/index.ts';
import { spanIdToUuid, traceIdToUuid } from '../../postgres/index.ts';
import type { ObservatorySpanProcessor } from '../../processor/index.ts';
import type { Ticket } from './admission.ts';
import type { Acceptance, OtlpEncoding } from './messages.ts';
import { Rejection } from './rejection.ts';

/** Maximum time of enriching before yielding to other requests, in milliseconds. */
const MAX_TURN_MS = 2;

/** Estimated memory of an attribute, list item, event or link in addition to its bytes; rather low. */
const BYTES_PER_ITEM = 64;

/** `Retry-After` in seconds when neither database nor disk accept spans. */
const RETRY_AFTER_OUTAGE = 5;

/** Where spans go. */
export interface IntakeParts {
  readonly processor: ObservatorySpanProcessor;
  readonly writer: DurableSpanWriter;
  /** Called with safe spans. */
  readonly onSafe: (spans: readonly ReadableSpan[]) => void;
  readonly maxSpans: number;
}

/** Processes a request body: decode, enrich, write, and wait until the spans are safe. */
export class Intake {
  readonly #parts: IntakeParts;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /**
   * Stores the spans of a body. When this resolves, they are in the database or on disk.
   * @throws Rejection
   */
  async take(body: Buffer, encoding: OtlpEncoding, ticket: Ticket): Promise<Acceptance> {
    const { spans, items } = this.#decode(body, encoding);
    ticket.holds(body.length + BYTES_PER_ITEM * items, spans.length);
    const valid = spans.filter(hasValidIds);
    await this.#enrich(valid);
    const outcome = await this.#parts.writer.write(valid);
    if (outcome.kind === 'full') throw new Rejection('overloaded', 'Too many spans are waiting', 1);
    if (outcome.kind === 'failed') {
      throw new Rejection('unavailable', 'Spans cannot be stored now', RETRY_AFTER_OUTAGE);
    }
    this.#parts.onSafe(valid);
    return acceptance(spans.length - valid.length, outcome.refused);
  }

  #decode(body: Buffer, encoding: OtlpEncoding): DecodedRequest {
    const decode = encoding === 'json' ? decodeJson : decodeProtobuf;
    try {
      return decode(body, this.#parts.maxSpans);
    } catch (error) {
      if (error instanceof DecodeError) throw new Rejection(error.reason, error.message);
      throw error;
    }
  }

  async #enrich(spans: readonly ReadableSpan[]): Promise<void> {
    let turnEnds = performance.now() + MAX_TURN_MS;
    for (const span of spans) this.#parts.processor.expectEnded(span);
    for (const span of spans) {
      this.#parts.processor.enrichEnded(span);
      if (performance.now() < turnEnds) continue;
      await nextTurn();
      turnEnds = performance.now() + MAX_TURN_MS;
    }
  }
}

/** Whether a row could have a key; ids are checked again when rows are written. */
function hasValidIds(span: { readonly traceId: string; readonly spanId: string }): boolean {
  return traceIdToUuid(span.traceId) !== undefined && spanIdToUuid(span.spanId) !== undefined;
}

function acceptance(withoutIds: number, refused: number): Acceptance {
  const reasons = [
    ...(withoutIds === 0
      ? []
      : [`${withoutIds} without a trace id of 16 and a span id of 8 bytes, not zero`]),
    ...(refused === 0 ? [] : [`${refused} refused by the database for what is in them`]),
  ];
  const message = reasons.length === 0 ? '' : `Spans not stored: ${reasons.join('; ')}`;
  return { rejected: withoutIds + refused, message };
}
