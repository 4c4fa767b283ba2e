/** The fields of a record as plain, bounded JSON, whatever was given: names and messages come from planners and servers. */
import type { JsonObject } from '../../json/index.ts';

/**
 * Beyond these a field is cut: a record is read by people, and written while a call waits. Its secrets are taken out at
 * once, which takes at most about 35 ms for so many characters.
 */
const MAX_DEPTH = 32;
const MAX_FIELD_MEMBERS = 10_000;
const MAX_CHARS = 65_536;

/** The strict reader of the trail refuses these names. */
const UNREAD_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

interface WellFormed {
  toWellFormed(): string;
}

/** What a reading may still take. */
interface Room {
  members: number;
  chars: number;
}

/**
 * A copy as JSON has it, never an error: `[cut]` replaces what is nested deeper than 32 levels (cycles are), for the
 * rest of a text beyond 65,536 characters in all, and for members beyond 10,000; `[unreadable]` for what cannot be read.
 */
export function plainFields(fields: Readonly<Record<string, unknown>>): JsonObject {
  const plain = plainValue(fields, 0, { members: MAX_FIELD_MEMBERS, chars: MAX_CHARS });
  return typeof plain === 'object' && plain !== null && !Array.isArray(plain)
    ? (plain as JsonObject)
    : { fields: plain };
}

function plainValue(value: unknown, depth: number, room: Room): unknown {
  switch (typeof value) {
    case 'string':
      return plainText(value, room);
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) return null;
      // As with names: what two readers may take for two numbers is written as a text.
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? String(value) : value;
    case 'bigint':
      return plainText(String(value), room);
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (depth >= MAX_DEPTH || room.members <= 0) return '[cut]';
  try {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') return plainValue(Reflect.apply(toJSON, value, []), depth + 1, room);
    return Array.isArray(value) ? plainList(value, depth, room) : plainObject(value, depth, room);
  } catch {
    return '[unreadable]';
  }
}

function plainText(text: string, room: Room): string {
  const kept = text.length <= room.chars ? text : `${text.slice(0, Math.max(0, room.chars))}[cut]`;
  room.chars -= kept.length;
  return (kept as unknown as WellFormed).toWellFormed();
}

function plainList(list: readonly unknown[], depth: number, room: Room): unknown[] {
  const plain: unknown[] = [];
  for (let at = 0; at < list.length; at += 1) {
    if (room.members <= 0) {
      plain.push('[cut]');
      break;
    }
    room.members -= 1;
    plain.push(member(list, at, depth, room) ?? null);
  }
  return plain;
}

function plainObject(value: object, depth: number, room: Room): JsonObject {
  const plain: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (room.members <= 0) {
      plain['[cut]'] = true;
      break;
    }
    room.members -= 1;
    const own = member(value, key, depth, room);
    if (own === undefined) continue;
    plain[UNREAD_KEYS.has(key) ? `[${key}]` : plainText(key, room)] = own;
  }
  return plain;
}

function member(of: object, key: string | number, depth: number, room: Room): unknown {
  let value: unknown;
  try {
    value = (of as Record<string | number, unknown>)[key];
  } catch {
    return '[unreadable]';
  }
  return plainValue(value, depth + 1, room);
}
