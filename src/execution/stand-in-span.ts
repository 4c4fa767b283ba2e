import type { Attributes, AttributeValue, SpanStatus } from '@opentelemetry/api';
import { SpanStatusCode } from '@opentelemetry/api';

/**
 * Collects span data where the real span is not recording or not readable: not sampled, no provider registered, or
 * another vendor's. Decisions by a call's fields must not depend on that.
 */
export class StandInSpan {
  readonly kind: number;
  readonly attributes: Record<string, AttributeValue>;
  readonly events: readonly never[] = [];
  readonly startTime: readonly [number, number] = [Math.floor(Date.now() / 1000), 0];
  status: SpanStatus = { code: SpanStatusCode.UNSET };

  constructor(kind: number, attributes: Attributes) {
    this.kind = kind;
    this.attributes = {};
    this.setAttributes(attributes);
  }

  isRecording(): boolean {
    return true;
  }

  setAttribute(name: string, value: AttributeValue): this {
    this.attributes[name] = value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this.setAttribute(name, value);
    }
    return this;
  }

  setStatus(status: SpanStatus): this {
    this.status = status;
    return this;
  }
}
