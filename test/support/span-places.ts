/** Where the spans of a program are in their traces, to compare what it sends with us and without. */
import { readFile } from 'node:fs/promises';
import type { CollectedSpan } from './otlp-collector.ts';

export const CALL =
  /^(?:chat|generate_content|execute_tool|initialize|invoke_\w+|(?:tools|server|notifications)\/)/;

/**
 * Scope, kind and names up to the root of each span, and how many there are; `?` for a parent that did not arrive. Spans
 * of calls, which are ours or of others, are left out of what is above a span.
 */
export function placesOf(spans: readonly CollectedSpan[]): Map<string, number> {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = (span: CollectedSpan): string => {
    let above: CollectedSpan | undefined = span;
    do {
      if (above.parentSpanId === '') return span.name;
      above = byId.get(above.parentSpanId);
    } while (above !== undefined && CALL.test(above.name));
    return `${above === undefined ? '?' : pathOf(above)} > ${span.name}`;
  };
  const places = new Map<string, number>();
  for (const span of spans) {
    // Ports are those of one run.
    const place = `${pathOf(span).replace(/:\d{4,5}(?:\/run-\d+)?/g, '')} (${span.scope}, ${span.kind})`;
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  return places;
}

/** What Sentry would have sent. */
export async function sentSpans(file: string): Promise<CollectedSpan[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const { name, span_id, parent_span_id } = JSON.parse(line) as Record<string, string | undefined>;
    return { name, spanId: span_id, parentSpanId: parent_span_id ?? '', scope: 'sentry' } as CollectedSpan;
  });
}
