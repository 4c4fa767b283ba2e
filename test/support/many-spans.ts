import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { recordSpans } from './spans.ts';

/** Spans of model calls, as many as asked for. */
export function manySpans(count: number, name = 'chat gpt-4o'): ReadableSpan[] {
  return recordSpans((tracer) => {
    for (let i = 0; i < count; i += 1) {
      const attributes = {
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 100 + (i % 900),
        'gen_ai.usage.output_tokens': i % 400,
        'observatory.prompt_hash': `${i}`.padStart(64, 'a'),
        'observatory.cost_usd': i / 1e6,
        'app.user': `user-${i % 100}`,
      };
      tracer.startSpan(name, { attributes }).end();
    }
  });
}

/** Sorted ids, to compare sets of spans. */
export function idsOf(spans: readonly ReadableSpan[]): string[] {
  return spans.map((span) => span.spanContext().spanId).sort();
}
