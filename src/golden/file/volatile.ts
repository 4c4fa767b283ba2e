import { isObject } from '../../json/index.ts';
import type { Matcher, McpCall, ProviderExchange } from './format.ts';
import { learnPattern, toPattern } from './pattern.ts';

/** A time in a text counts as the clock's if it is within this of when the text was sent, in either direction. */
const NEAR_MS = 120_000;
const DAY_MS = 86_400_000;
/** Longer texts are compared as they are. */
const MAX_TEXT = 200_000;

/**
 * Forms in which programs write times and random ids into prompts and arguments. Each token is read as a time; only the
 * clock's own count. An id counts if nothing that was answered before holds it.
 */
const TOKENS: RegExp = new RegExp(
  [
    // ISO 8601, a date or a date with a time.
    String.raw`\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?Z| ?[+-]\d{2}:?\d{2})?)?\b`,
    // As `Date` and `Intl` write it in English: Fri Nov 27 2026 08:43:12 GMT+0000 (UTC); Friday, November 27, 2026.
    String.raw`\b(?:[A-Z][a-z]{2,8},? )?(?:\d{1,2} [A-Z][a-z]{2,8},?|[A-Z][a-z]{2,8} \d{1,2},?) \d{4}(?:,?(?: at)? \d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?(?: GMT(?:[+-]\d{4})?(?: \([^()]{1,40}\))?| UTC)?)?`,
    // 11/27/2026, 8:43:12 AM
    String.raw`\b\d{1,2}/\d{1,2}/\d{4}(?:, \d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?)?`,
    String.raw`\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M\b)?`,
    String.raw`\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b`,
    String.raw`\b1\d{9}(?:\d{3})?\b`,
  ].join('|'),
  'gi',
);
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * Matchers for what the next run will send differently: times of the clock, and ids that the program made up. By the
 * place in the golden.
 */
export function volatileMatchers(
  exchanges: readonly ProviderExchange[],
  calls: readonly McpCall[],
): Record<string, Matcher> {
  const sent = [
    ...exchanges.map(({ request, response, started_at: at, order }, index) => ({
      place: `provider_responses[${index}].request.body`,
      said: request.body,
      heard: [response.body, response.events, response.text],
      at: Date.parse(at ?? ''),
      order,
    })),
    ...calls.map(({ arguments: said, result, order }, index) => ({
      place: `mcp_cassette.calls[${index}].arguments`,
      said,
      heard: [result],
      at: Number.NaN,
      order,
    })),
  ].sort((left, right) => (left.order?.[0] ?? 0) - (right.order?.[0] ?? 0));
  const found: Record<string, Matcher> = {};
  const answered: string[] = [];
  let clock = Number.NaN;
  for (const { place, said, heard, at } of sent) {
    // A call has no time of its own; it is made soon after the exchange before it.
    if (!Number.isNaN(at)) clock = at;
    const reading: Reading = { clock, isAnswered: (id) => answered.some((text) => text.includes(id)) };
    collect(said, place, reading, found);
    answered.push(JSON.stringify(heard).toLowerCase());
  }
  return found;
}

/**
 * The matcher for a value that another run of the same program sends otherwise.
 * @returns undefined if it differs in more than a number or parts of a text.
 */
export function learnMatcher(recorded: unknown, other: unknown, known?: Matcher): Matcher | undefined {
  if (typeof recorded === 'number' && typeof other === 'number') return 'number';
  if (typeof recorded !== 'string' || typeof other !== 'string') return undefined;
  if (Math.max(recorded.length, other.length) > MAX_TEXT) return undefined;
  const pattern = typeof known === 'object' && 'volatile' in known ? known.volatile : undefined;
  const learned = learnPattern(recorded, other, pattern);
  return learned === undefined ? undefined : { volatile: learned };
}

interface Reading {
  /** When the value was sent, in milliseconds since the epoch. */
  readonly clock: number;
  isAnswered(id: string): boolean;
}

function collect(value: unknown, place: string, reading: Reading, found: Record<string, Matcher>): void {
  if (typeof value === 'string') {
    const matcher = value.length > MAX_TEXT ? undefined : findMatcher(value, reading);
    if (matcher !== undefined) found[place] = matcher;
  } else if (typeof value === 'number') {
    if (isNear(value, reading.clock) || isNear(value * 1000, reading.clock)) found[place] = 'number';
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, `${place}[${index}]`, reading, found);
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) collect(member, `${place}.${name}`, reading, found);
  }
}

function findMatcher(text: string, reading: Reading): Matcher | undefined {
  const parts = [...text.matchAll(TOKENS)]
    .filter(([token]) => isVolatile(token, reading))
    .map(({ 0: token, index }) => [index, index + token.length] as const);
  return parts.length === 0 ? undefined : { volatile: toPattern(text, parts) };
}

function isVolatile(token: string, { clock, isAnswered }: Reading): boolean {
  if (UUID.test(token)) return !isAnswered(token.toLowerCase());
  if (Number.isNaN(clock)) return false;
  if (/^\d+$/.test(token)) return isNear(Number(token) * (token.length > 10 ? 1 : 1000), clock);
  if (/^\d{1,2}:/.test(token)) return isTimeOfDay(token, clock);
  return listTimes(token).some((time) =>
    token.includes(':') ? isNear(time, clock) : Math.abs(time - clock) <= DAY_MS,
  );
}

function isNear(time: number, clock: number): boolean {
  return Math.abs(time - clock) <= NEAR_MS;
}

/** A token as a time in this zone and in UTC; of a date with slashes with the day first too. */
function listTimes(token: string): number[] {
  const text = token.replace(' at ', ' ').replace(/ \([^()]*\)$/, '');
  const turned = text.replace(/^(\d{1,2})\/(\d{1,2})\//, '$2/$1/');
  return [text, turned]
    .flatMap((one) => [Date.parse(one), Date.parse(`${one} UTC`), Date.parse(`${one}Z`)])
    .filter((time) => !Number.isNaN(time));
}

function isTimeOfDay(token: string, clock: number): boolean {
  const day = new Date(clock);
  const [date, month, year] = [day.getDate(), day.getMonth() + 1, day.getFullYear()];
  const [utcDate, utcMonth, utcYear] = [day.getUTCDate(), day.getUTCMonth() + 1, day.getUTCFullYear()];
  return [`${month}/${date}/${year} ${token}`, `${utcMonth}/${utcDate}/${utcYear} ${token} UTC`].some(
    (text) => isNear(Date.parse(text), clock),
  );
}
