import { ObservatoryError } from '../../base/index.ts';
import { usageError } from './command.ts';

const MS_OF_UNIT = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const DURATION = /^(\d{1,6})([mhdw])$/;

/**
 * Parses a duration into milliseconds: `90m`, `12h`, `30d`, `8w`; the time since 1970 for a longer one.
 * @throws ObservatoryError `INVALID_OPTION` for anything else, zero included.
 */
export function durationFlag<T extends string | undefined>(
  option: string,
  text: T,
): number | Extract<T, undefined> {
  if (text === undefined) return text as Extract<T, undefined>;
  const [, count, unit] = DURATION.exec(text) ?? [];
  const ms = Number(count) * MS_OF_UNIT[unit as keyof typeof MS_OF_UNIT];
  if (ms > 0) return Math.min(ms, Date.now());
  throw usageError(
    `Expected ${option} to be a number of minutes, hours, days or weeks such as 90m, 12h, 30d or 8w, got '${text}'`,
  );
}

/** The time that long ago. @throws ObservatoryError `INVALID_OPTION` as {@link durationFlag} */
export function ageFlag(option: string, text: string): Date {
  return new Date(Date.now() - durationFlag(option, text));
}

/** @throws ObservatoryError `INVALID_OPTION` for an invalid number. */
export function numberFlag<T extends string | undefined>(
  option: string,
  text: T,
  { from = 0, to, whole = false }: { from?: number; to?: number; whole?: boolean } = {},
): number | Extract<T, undefined> {
  if (text === undefined) return text as Extract<T, undefined>;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  const inRange = value >= from && value <= (to ?? Number.MAX_VALUE);
  if (inRange && (!whole || Number.isSafeInteger(value))) return value;
  const expected = `a ${whole ? 'whole ' : ''}number from ${from} ${to === undefined ? 'up' : `to ${to}`}`;
  throw usageError(`Expected ${option} to be ${expected}, got '${text}'`);
}

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** Bytes: `20971520`, `512k`, `20m`, `1g`. @throws ObservatoryError `INVALID_OPTION` for anything else, zero included. */
export function sizeFlag<T extends string | undefined>(
  option: string,
  text: T,
): number | Extract<T, undefined> {
  if (text === undefined) return text as Extract<T, undefined>;
  const [, digits, unit = ''] = /^(\d{1,12})([kmg]?)$/i.exec(text) ?? [];
  const bytes = Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  if (bytes > 0) return bytes;
  throw usageError(
    `Expected ${option} to be a number of bytes such as 20971520, 512k, 20m or 1g, got '${text}'`,
  );
}

/** @throws ObservatoryError `INVALID_OPTION` for another word. */
export function wordFlag<const W extends string, T extends string | undefined>(
  option: string,
  words: readonly W[],
  text: T,
): W | Extract<T, undefined> {
  if (text === undefined) return text as Extract<T, undefined>;
  const word = words.find((one: string) => one === text);
  if (word !== undefined) return word;
  throw usageError(`Expected ${option} to be one of ${words.join(', ')}, got '${text}'`);
}

/** The error, with the flag that gives another port where the one of that flag is taken. */
export function namePortFlag(error: unknown, ports: Readonly<Record<string, number>>): unknown {
  if (!ObservatoryError.isInstance(error)) return error;
  const { code, port } = (error.cause ?? {}) as { code?: unknown; port?: unknown };
  const [flag] = Object.entries(ports).find(([, taken]) => taken === port) ?? [];
  if (code !== 'EADDRINUSE' || flag === undefined) return error;
  return new ObservatoryError(error.code, `${error.message}. Give another port with ${flag}`, {
    cause: error.cause,
  });
}
