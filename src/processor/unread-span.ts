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
  isWritten: boolean;
  /** Of a span that somebody has sealed or frozen. */
  copy: ReadableSpan | undefined;
}

const UNREAD: unique symbol = Symbol('mcp-observatory.unread') as never;

interface UnreadSpan {
  [UNREAD]?: Unread;
}

const PROPERTIES: readonly WrittenProperty[] = ['attributes', 'events', 'status'];
/** Printing asks for it before it lists the properties. */
const TAG: typeof Symbol.toStringTag = Symbol.toStringTag;

/** The same functions for all spans: engines then give all of them one layout. */
const DESCRIPTORS: Readonly<Record<WrittenProperty, PropertyDescriptor>> = {
  attributes: descriptorOf('attributes'),
  events: descriptorOf('events'),
  status: descriptorOf('status'),
};
const TAG_DESCRIPTOR: PropertyDescriptor = {
  get(this: UnreadSpan) {
    const span = written(this);
    return span && Reflect.get(Object.getPrototypeOf(span), TAG, span);
  },
  configurable: true,
};

function descriptorOf(name: WrittenProperty): PropertyDescriptor {
  return {
    get(this: UnreadSpan) {
      return written(this)?.[name];
    },
    set(this: UnreadSpan, value: unknown) {
      const span = this[UNREAD]?.span;
      const target = written(this);
      if (span !== undefined && span === this && target !== span) define(target as ReadableSpan, name, value);
      // Something that only inherits from the span, or is a copy of it, gets a property of its own.
      else define(this, name, value);
    },
    enumerable: true,
    configurable: true,
  };
}

function define(target: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

function written(reader: UnreadSpan): ReadableSpan | undefined {
  const unread = reader[UNREAD];
  if (unread === undefined) return undefined;
  const isFirst = !unread.isWritten;
  const target = giveBack(unread.span);
  if (isFirst) unread.write(unread.span);
  return unread.copy ?? target;
}

/** Calls `write` before anybody reads the attributes, events or status of a span that {@link isOfSdk}. */
export function writeWhenRead(span: ReadableSpan, write: (span: ReadableSpan) => void): void {
  const { attributes, events, status } = span;
  const own = span as UnreadSpan;
  own[UNREAD] = { span, attributes, events, status, write, isWritten: false, copy: undefined };
  for (const name of PROPERTIES) Object.defineProperty(span, name, DESCRIPTORS[name]);
  Object.defineProperty(span, TAG, TAG_DESCRIPTOR);
}

/** Whether this `write` is still to be called; that of another processor is when the span is read. */
export function isUnread(span: object, write: (span: ReadableSpan) => void): boolean {
  return (span as UnreadSpan)[UNREAD]?.write === write;
}

/**
 * Makes the properties of a span again what they were.
 * @returns what is to be written to: the span, or a copy if somebody has sealed or frozen it, whose properties it shows.
 */
export function giveBack(span: ReadableSpan): ReadableSpan {
  const own = span as UnreadSpan;
  const unread = own[UNREAD];
  if (unread === undefined) return span;
  unread.isWritten = true;
  if (!Object.isExtensible(span) && Object.isSealed(span)) {
    unread.copy ??= copyOf(span, unread);
    return unread.copy;
  }
  delete own[UNREAD];
  delete (span as { [TAG]?: unknown })[TAG];
  for (const name of PROPERTIES) define(span, name, unread[name]);
  return span;
}

function copyOf(span: ReadableSpan, unread: Unread): ReadableSpan {
  const copy = Object.create(Object.getPrototypeOf(span)) as ReadableSpan;
  for (const key of Reflect.ownKeys(span)) {
    const property = Object.getOwnPropertyDescriptor(span, key);
    if (property !== undefined && 'value' in property && key !== UNREAD) define(copy, key, property.value);
  }
  for (const name of PROPERTIES) define(copy, name, unread[name]);
  return copy;
}

/** Whether a span is one of OpenTelemetry's SDK, whose properties can be replaced, and were not by somebody else. */
export function isOfSdk(span: ReadableSpan): boolean {
  return (
    typeof (span as unknown as { _ended?: unknown })._ended === 'boolean' &&
    Object.isExtensible(span) &&
    PROPERTIES.every((name) => isPlain(Object.getOwnPropertyDescriptor(span, name))) &&
    !Object.hasOwn(span, TAG)
  );
}

const isPlain = (property: PropertyDescriptor | undefined): boolean =>
  property?.configurable === true && property.writable === true;

/** More than what enriching a span adds to it. */
const ROOM = 64;
const EVENT_ROOM = 8;

interface Limited {
  readonly _attributesCount?: number;
  readonly _spanLimits?: { readonly attributeCountLimit?: number; readonly eventCountLimit?: number };
}

/**
 * Whether a span takes all attributes and events that are written later, in whatever order, so that what it says it has
 * dropped does not change with them.
 */
export function hasRoom(span: ReadableSpan): boolean {
  const { _attributesCount: count, _spanLimits: limits } = span as Limited;
  const { attributeCountLimit: most, eventCountLimit: mostEvents } = limits ?? {};
  if (most !== undefined && count !== undefined && count + ROOM > most) return false;
  return mostEvents === undefined || span.events.length + EVENT_ROOM <= mostEvents;
}
