import { isObject } from '../../json/index.ts';
import type { Matcher, McpCall, ProviderExchange } from './format.ts';
import { findNamedDates } from './named-dates.ts';
import { learnPattern, toPattern } from './pattern.ts';

/** A time in a text counts as the clock's if it lies within the run until the text was sent, or this near to that. */
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
    // ISO 8601, a date or a date with a time; the same with slashes, without signs, or as names of files have it.
    String.raw`\b\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T _]\d{1,2}[:-]\d{2}(?:[:-]\d{2}(?:[.,]\d{1,9})?)?(?: ?Z| ?[+-]\d{2}:?\d{2})?)?\b`,
    String.raw`\b20\d{6}(?:[T_-]?\d{6}Z?)?\b`,
    // As `Date` and `Intl` write it in English: Fri Nov 27 2026 08:43:12 GMT+0000 (UTC); Friday, November 27, 2026.
    String.raw`\b(?:[A-Z][a-z]{2,8},? )?(?:\d{1,2} [A-Z][a-z]{2,8},?|[A-Z][a-z]{2,8} \d{1,2},?) \d{4}(?:,?(?: at)? \d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?(?: (?:GMT)?[+-]\d{4}(?: \([^()]{1,40}\))?| GMT| UTC)?)?`,
    // 11/27/2026, 8:43:12 AM; 27.11.2026, 08:43:12
    String.raw`\b\d{1,2}([/.])\d{1,2}\1\d{4}(?:,? \d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?)?`,
    String.raw`\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M\b)?`,
    String.raw`\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b`,
    String.raw`\b1\d{9}(?:\d{3})?(?:\.\d{1,9})?\b`,
  ].join('|'),
  'gi',
);
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * Matchers for what the next run will send differently: times of the clock, and ids that the program made up. By the
 * place in the golden.
 * @param recordedAt when the run began, ISO 8601.
 */
export function volatileMatchers(
  exchanges: readonly ProviderExchange[],
  calls: readonly McpCall[],
  recordedAt: string,
): Record<string, Matcher> {
  const sent = [
    ...exchanges.map(({ request, response, started_at: at, duration_ms: ms, order }, index) => ({
      place: `provider_responses[${index}].request.body`,
      said: request.body,
      heard: [response.body, response.events, response.text],
      at: Date.parse(at ?? ''),
      ms: ms ?? 0,
      order,
    })),
    ...calls.map(({ arguments: said, result, duration_ms: ms, order }, index) => ({
      place: `mcp_cassette.calls[${index}].arguments`,
      said,
      heard: [result],
      at: Number.NaN,
      ms,
      order,
    })),
  ].sort((left, right) => (left.order?.[0] ?? 0) - (right.order?.[0] ?? 0));
  const found: Record<string, Matcher> = {};
  const answered: string[] = [];
  const own = new Set<string>();
  const isAnswered = (id: string): boolean => answered.some((text) => text.includes(id));
  const start = Date.parse(recordedAt);
  let clock = start;
  const moments = sent.flatMap(({ at }) => (Number.isNaN(at) ? [] : [at]));
  for (const { place, said, heard, at, ms } of sent) {
    const isCall = Number.isNaN(at);
    if (!isCall) clock = moments.shift() ?? at;
    // A call has no time of its own: it is made between the exchanges before and after it.
    const times = isCall ? [start, clock, moments[0] ?? clock] : [start, clock];
    collect(said, place, { times, own, isAnswered }, found);
    answered.push(JSON.stringify(heard).toLowerCase());
    clock += ms;
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
  /** When the run began, and when the value was sent, as near as that is known; in milliseconds since the epoch. */
  readonly times: readonly number[];
  /** Times and ids that were sent before as the program's own, which it may repeat much later. */
  readonly own: Set<string>;
  isAnswered(id: string): boolean;
}

function collect(value: unknown, place: string, reading: Reading, found: Record<string, Matcher>): void {
  if (typeof value === 'string') {
    const matcher = value.length > MAX_TEXT ? undefined : findMatcher(value, reading);
    if (matcher !== undefined) found[place] = matcher;
  } else if (typeof value === 'number') {
    if ([value, value * 1000].some((time) => isWithin(time, reading, NEAR_MS))) found[place] = 'number';
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
  const dates = findNamedDates(text, reading.times);
  let end = 0;
  const all = [...parts, ...dates]
    .sort(([left, to], [right, other]) => left - right || other - to)
    .filter(([from, to]) => {
      const isFree = from >= end;
      if (isFree) end = to;
      return isFree;
    });
  return all.length === 0 ? undefined : { volatile: toPattern(text, all) };
}

function isVolatile(token: string, reading: Reading): boolean {
  const { own, isAnswered } = reading;
  const text = token.toLowerCase();
  const isOwn = own.has(text) || (UUID.test(text) ? !isAnswered(text) : isOfClock(token, reading));
  if (isOwn) own.add(text);
  return isOwn;
}

function isOfClock(token: string, reading: Reading): boolean {
  if (/^1\d{9}/.test(token))
    return isWithin(Number(token) * (Number(token) < 1e11 ? 1000 : 1), reading, NEAR_MS);
  if (/^\d{1,2}:/.test(token)) return reading.times.some((time) => isTimeOfDay(token, time));
  const text = readable(token);
  const slack = text.includes(':') ? NEAR_MS : DAY_MS;
  return listTimes(text).some((time) => isWithin(time, reading, slack));
}

function isWithin(time: number, { times }: Reading, slack: number): boolean {
  return time >= Math.min(...times) - slack && time <= Math.max(...times) + slack;
}

/** A token in a form that `Date` reads. */
function readable(token: string): string {
  return token
    .replace(' at ', ' ')
    .replace(/ \([^()]*\)$/, '')
    .replace(/(:\d\d),(?=\d)/, '$1.')
    .replace(/^(\d{1,2})\.(\d{1,2})\./, '$1/$2/')
    .replace(/^(\d{4})(\d\d)(\d\d)/, '$1-$2-$3')
    .replace(/^(\d{4}-\d\d-\d\d)[T_-]?(\d\d)-?(\d\d)-?(\d\d)/, '$1T$2:$3:$4');
}

/** A text as a time in this zone and in UTC; of a date with slashes with the day first too. */
function listTimes(text: string): number[] {
  const turned = text.replace(/^(\d{1,2})\/(\d{1,2})\//, '$2/$1/');
  return [text, turned]
    .flatMap((one) => [Date.parse(one), Date.parse(`${one} UTC`), Date.parse(`${one}Z`)])
    .filter((time) => !Number.isNaN(time));
}

/** Whether it was this time of a day, here or in UTC. */
function isTimeOfDay(token: string, time: number): boolean {
  const [, hours, minutes, seconds = '0', half] = /^(\d+):(\d+)(?::(\d+))?(?: ?([AP]))?/i.exec(token) ?? [];
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (/p/i.test(half) ? 12 : 0);
  const told = ((hour * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return [0, new Date(time).getTimezoneOffset() * 60_000].some((offset) => {
    const apart = (((told - time + offset) % DAY_MS) + DAY_MS) % DAY_MS;
    return Math.min(apart, DAY_MS - apart) <= NEAR_MS;
  });
}
