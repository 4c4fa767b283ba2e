import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { altered } from './spans.ts';

/** `String.prototype.toWellFormed`, which Node 20 has and the ES2023 library of TypeScript does not know. */
interface WellFormed {
  toWellFormed(): string;
}

/** The same span without what UTF-8 cannot carry: lone surrogates, which every sender replaces by U+FFFD. */
export function onTheWire(span: ReadableSpan): ReadableSpan {
  const instrumentationScope = wellFormed(span.instrumentationScope);
  return altered(span, { attributes: wellFormed(span.attributes), instrumentationScope });
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return (value as string & WellFormed).toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      (key as string & WellFormed).toWellFormed(),
      wellFormed(item),
    ]),
  );
}
