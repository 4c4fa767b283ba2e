import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { DurableSpanWriter } from '../../durable/index.ts';
import {
  DecodeError,
  decodeJson,
  decodeLogsJson,
  decodeLogsProtobuf,
  decodeProtobuf,
  type ReceivedLog,
  type ReceivedSpan,
} from '../../otlp/index.ts';
import { spanIdToUuid, traceIdToUuid } from '../../postgres/index.ts';
import { type Enricher, innermostFirst } from '../../processor/index.ts';
import { STEP_CHARS } from '../../signals/index.ts';
import { readAgentEvents, readAgentSpans } from '../agents/index.ts';
import type { Ticket } from './admission.ts';
import type { Acceptance, OtlpEncoding, OtlpSignal } from './messages.ts';
import { Rejection } from './rejection.ts';

/** Maximum time of enriching before yielding to other requests, in milliseconds. */
const MAX_TURN_MS = 2;

/** Estimated memory of an attribute, list item, event or link in addition to its bytes; rather low. */
const BYTES_PER_ITEM = 64;

/** `Retry-After` in seconds when neither database nor disk accept spans. */
const RETRY_AFTER_OUTAGE = 5;

/** How far ahead of this clock a span may start without being counted. */
const AHEAD_SECONDS = 86_400;

/** Where spans go. */
export interface IntakeParts {
  readonly enricher: Enricher;
  readonly writer: DurableSpanWriter;
  /** Called with safe spans. */
  readonly onSafe: (spans: readonly ReadableSpan[]) => void;
  /** Called with the log records, spans or requests of metrics that are not stored. */
  readonly onIgnored: (signal: OtlpSignal, count: number) => void;
  /** Called with the number of spans that start more than a day ahead: a clock is wrong. They are stored as they are. */
  readonly onAhead: (count: number) => void;
  readonly maxSpans: number;
}

/** The spans or log records of a request. */
interface Decoded {
  readonly received: readonly ReceivedSpan[];
  readonly logs: readonly ReceivedLog[];
  readonly items: number;
}

const DECODE = {
  traces: { json: decodeJson, protobuf: decodeProtobuf },
  logs: { json: decodeLogsJson, protobuf: decodeLogsProtobuf },
} as const;

const ALL: Acceptance = { rejected: 0, message: '' };

/** Processes a request body: decode, enrich, write, and wait until the spans are safe. */
export class Intake {
  readonly #parts: IntakeParts;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /**
   * Stores the spans of a body. When this resolves, they are in the database or on disk. Of logs, the events of coding
   * agents are stored as spans. Metrics are not read: what agents count in them is in their events too.
   * @throws Rejection
   */
  async take(signal: OtlpSignal, body: Buffer, encoding: OtlpEncoding, ticket: Ticket): Promise<Acceptance> {
    if (signal === 'metrics') {
      this.#parts.onIgnored(signal, 1);
      return ALL;
    }
    const { received, logs, items } = this.#decode(signal, body, encoding);
    ticket.holds(body.length + BYTES_PER_ITEM * items, received.length + logs.length);
    const { spans, ignored } = signal === 'logs' ? await readAgentEvents(logs) : readAgentSpans(received);
    if (ignored > 0) this.#parts.onIgnored(signal, ignored);
    const valid = spans.filter(hasValidIds);
    await this.#enrich(valid, body.length);
    const outcome = await this.#parts.writer.write(valid);
    if (outcome.kind === 'full') throw new Rejection('overloaded', 'Too many spans are waiting', 1);
    if (outcome.kind === 'failed') {
      throw new Rejection('unavailable', 'Spans cannot be stored now', RETRY_AFTER_OUTAGE);
    }
    this.#parts.onSafe(valid);
    const latest = Date.now() / 1000 + AHEAD_SECONDS;
    const ahead = valid.filter(({ startTime }) => startTime[0] > latest).length;
    if (ahead > 0) this.#parts.onAhead(ahead);
    return acceptance(spans.length - valid.length, outcome.refused);
  }

  #decode(signal: 'traces' | 'logs', body: Buffer, encoding: OtlpEncoding): Decoded {
    const { maxSpans } = this.#parts;
    try {
      if (signal === 'logs') return { ...DECODE.logs[encoding](body, maxSpans), received: [] };
      const { spans, items } = DECODE.traces[encoding](body, maxSpans);
      return { received: spans, logs: [], items };
    } catch (error) {
      if (error instanceof DecodeError) throw new Rejection(error.reason, error.message);
      throw error;
    }
  }

  async #enrich(spans: readonly ReadableSpan[], bytes: number): Promise<void> {
    const mayBeLong = bytes > STEP_CHARS;
    let turnEnds = performance.now() + MAX_TURN_MS;
    const { enricher } = this.#parts;
    for (const span of spans) enricher.expectReceived(span);
    for (const span of innermostFirst(spans)) {
      const reading = mayBeLong ? enricher.readAhead(span) : undefined;
      if (reading !== undefined) await reading;
      enricher.enrichReceived(span);
      if (reading === undefined && performance.now() < turnEnds) continue;
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
