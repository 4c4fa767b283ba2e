/**
 * Spans that are written after their end, in a pipeline that hands them to processors and exporters as they end: what is
 * still to be written is, as soon as anybody reads the properties it is written to.
 */
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

type WrittenProperty = 'attributes' | 'events' | 'status';

interface Unread {
  /** A reader may hold something that only inherits from the span. */
  readonly span: ReadableSpan;
  readonly attributes: ReadableSpan['attributes'];
  readonly events: ReadableSpan['events'];
  readonly status: ReadableSpan['status'];
  readonly write: (span: ReadableSpan) => void;
}

const UNREAD: unique symbol = Symbol('mcp-observatory.unread') as never;
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never;

interface UnreadSpan {
  [UNREAD]?: Unread;
  [INSPECT]?: unknown;
}

const PROPERTIES: readonly WrittenProperty[] = ['attributes', 'events', 'status'];

/** The same functions for all spans: engines then give all of them one layout. */
const DESCRIPTORS: Readonly<Record<WrittenProperty, PropertyDescriptor>> = {
  attributes: descriptorOf('attributes'),
  events: descriptorOf('events'),
  status: descriptorOf('status'),
};

function descriptorOf(name: WrittenProperty): PropertyDescriptor {
  return {
    get(this: UnreadSpan) {
      return written(this)?.[name];
    },
    set(this: UnreadSpan, value: unknown) {
      const span = written(this);
      if (span !== undefined) (span as unknown as Record<string, unknown>)[name] = value;
    },
    enumerable: true,
    configurable: true,
  };
}

function written(reader: UnreadSpan): ReadableSpan | undefined {
  const unread = reader[UNREAD];
  if (unread === undefined) return undefined;
  giveBack(unread.span);
  unread.write(unread.span);
  return unread.span;
}

/** Printing an object calls no getter. */
function inspect(this: UnreadSpan, _depth: number, options: unknown, print: (...args: unknown[]) => string) {
  return print(written(this) ?? this, options);
}

/**
 * Calls `write` before anybody reads the span's attributes, events or status.
 * @returns false for a span of something else than OpenTelemetry's SDK, which stays as it is.
 */
export function writeWhenRead(span: ReadableSpan, write: (span: ReadableSpan) => void): boolean {
  if (isUnread(span)) return true;
  if (!isOfSdk(span)) return false;
  const { attributes, events, status } = span;
  const own = span as UnreadSpan;
  own[UNREAD] = { span, attributes, events, status, write };
  own[INSPECT] = inspect;
  for (const name of PROPERTIES) Object.defineProperty(span, name, DESCRIPTORS[name]);
  return true;
}

export function isUnread(span: object): boolean {
  return (span as UnreadSpan)[UNREAD] !== undefined;
}

/** Makes the properties of a span again what they were. */
export function giveBack(span: ReadableSpan): void {
  const own = span as UnreadSpan;
  const unread = own[UNREAD];
  if (unread === undefined) return;
  delete own[UNREAD];
  delete own[INSPECT];
  for (const name of PROPERTIES) {
    Object.defineProperty(span, name, {
      value: unread[name],
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}

let lastClass: unknown;
let isLastOfSdk = false;

/** Whether a span is one of OpenTelemetry's SDK, whose properties can be replaced; found once for each class. */
export function isOfSdk(span: ReadableSpan): boolean {
  if (span.constructor === lastClass) return isLastOfSdk && Object.isExtensible(span);
  isLastOfSdk =
    typeof (span as unknown as { _ended?: unknown })._ended === 'boolean' &&
    PROPERTIES.every((name) => {
      const property = Object.getOwnPropertyDescriptor(span, name);
      return property?.configurable === true && property.writable === true;
    });
  lastClass = span.constructor;
  return isLastOfSdk && Object.isExtensible(span);
}
