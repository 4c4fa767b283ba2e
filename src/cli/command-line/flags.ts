import type { Database } from '../../postgres/index.ts';
import { type CommandIo, usageError } from './command.ts';
import { fetchedModule } from './fetched-packages.ts';

const MS_OF_UNIT = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const DURATION = /^(\d{1,6})([mhdw])$/;

/**
 * Parses a duration into milliseconds: `90m`, `12h`, `30d`, `8w`.
 * @throws ObservatoryError `INVALID_OPTION` for anything else, zero included.
 */
export function parseDuration(option: string, text: string): number {
  const [, count, unit] = DURATION.exec(text) ?? [];
  const ms = Number(count) * MS_OF_UNIT[unit as keyof typeof MS_OF_UNIT];
  if (ms > 0) return ms;
  throw usageError(
    `Expected ${option} to be a number of minutes, hours, days or weeks such as 90m, 12h, 30d or 8w, got '${text}'`,
  );
}

/** Which numbers a flag takes. */
interface NumberRange {
  /** @defaultValue 0 */
  readonly from?: number;
  readonly to?: number;
  readonly whole?: boolean;
}

/** @throws ObservatoryError `INVALID_OPTION` for an invalid number. */
export function numberFlag<T extends string | undefined>(
  option: string,
  text: T,
  { from = 0, to, whole = false }: NumberRange = {},
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

/** Connection string from the environment, used without a flag; an empty variable counts as unset. */
export function databaseUrlFrom(env: CommandIo['env']): string | undefined {
  return env.MCP_OBSERVATORY_DATABASE_URL?.trim() || env.DATABASE_URL?.trim() || undefined;
}

/** Flags of the commands that read the database. */
export const DATABASE_FLAGS = { 'database-url': { type: 'string' }, 'data-dir': { type: 'string' } } as const;

/**
 * Opens the database that the flags or the environment name; an embedded one must exist unless `create` is true.
 * Postgres is loaded here, so that commands without a database do not load it; a driver that is not installed is
 * fetched into the user's cache.
 */
export async function openDatabaseOf(
  values: { readonly [F in keyof typeof DATABASE_FLAGS]?: string | undefined },
  io: CommandIo,
  create = false,
  signal?: AbortSignal,
): Promise<Database> {
  const { openDatabase } = await import('../../postgres/index.ts');
  const url = values['database-url'] ?? databaseUrlFrom(io.env);
  return openDatabase({
    url,
    dataDir: values['data-dir'],
    create,
    signal,
    packageAt: (name) => fetchedModule(name, io),
  });
}
