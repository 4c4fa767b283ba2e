import { SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { isContentAttribute, isContentEventAttribute } from './content-names.ts';

/** Replaces text that cannot be deleted. */
export const REDACTED = '[redacted]';

type Mutable = Record<string, unknown>;

/**
 * Removes prompts, answers, tool arguments, results and error texts from a span: from its attributes, those of its
 * scope, events and links, and its status description. Names, counts, ids and `exception.type` stay.
 *
 * Fails closed: what cannot be deleted is overwritten, and if even that fails the span loses the whole part.
 *
 * @returns how many attributes of the span were removed.
 */
export function redactSpan(span: ReadableSpan): number {
  const removed = redactRecord(span, 'attributes', isContentAttribute);
  redactAll(span, 'events', isContentEventAttribute);
  redactAll(span, 'links', isContentAttribute);
  redactScope(span);
  redactStatus(span);
  return removed;
}

type IsContent = (key: string, value: unknown) => boolean;

/** Redacts the record in a field of `holder`. */
function redactRecord(holder: object, field: string, isContent: IsContent): number {
  let removed = 0;
  try {
    const record = (holder as Mutable)[field] as Mutable | undefined;
    for (const key in record) {
      if (!isContent(key, record[key])) continue;
      if (!Reflect.deleteProperty(record, key)) record[key] = REDACTED;
      removed += 1;
    }
  } catch {
    replaceField(holder, field, withoutContent((holder as Mutable)[field], isContent));
  }
  return removed;
}

/** A redacted copy of a record that does not allow deletion. */
function withoutContent(record: unknown, isContent: IsContent): Mutable {
  try {
    return Object.fromEntries(Object.entries(record as Mutable).filter(([k, v]) => !isContent(k, v)));
  } catch {
    return {};
  }
}

/** Redacts the attributes of every event or link. */
function redactAll(span: ReadableSpan, field: 'events' | 'links', isContent: IsContent): void {
  try {
    for (const item of span[field]) redactRecord(item, 'attributes', isContent);
  } catch {
    replaceField(span, field, []);
  }
}

/** Redacts the attributes of the scope, which spans share: in place if possible, else for this span only. */
function redactScope(span: ReadableSpan): void {
  const { instrumentationScope: scope } = span;
  if (scope === undefined || !('attributes' in scope)) return;
  try {
    redactRecord(scope, 'attributes', isContentAttribute);
  } catch {
    const { attributes: _, ...others } = scope;
    replaceField(span, 'instrumentationScope', others);
  }
}

function redactStatus(span: ReadableSpan): void {
  if (span.status.message === undefined) return;
  try {
    // Assigned directly: setStatus() has no effect once a span has ended.
    (span as { status: ReadableSpan['status'] }).status = { code: span.status.code };
  } catch {
    replaceField(span, 'status', { code: SpanStatusCode.ERROR });
  }
}

function replaceField(holder: object, field: string, value: unknown): void {
  Object.defineProperty(holder, field, { value, configurable: true, enumerable: true, writable: true });
}
