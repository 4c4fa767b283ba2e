import { useEffect, useState } from 'preact/hooks';
import { decodeUri } from '../../base/index.ts';

/** Where the page is: `#/view/argument/tab?q=...`. A pasted address shows the same thing. */
export interface Route {
  readonly view: string;
  readonly args: readonly string[];
  readonly query: URLSearchParams;
}

export function readRoute(): Route {
  const [path = '', query = ''] = location.hash.slice(2).split('?', 2);
  const [view = '', ...args] = path.split('/').map(decodeUri);
  return { view: view === '' ? 'runs' : view, args, query: new URLSearchParams(query) };
}

type Parameters = Readonly<Record<string, string | number | null | undefined>>;

/** An address: parameters that are empty are left out. */
export function link(path: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${path}${text === '' ? '' : `?${text}`}`;
}

/** The runs behind a figure: those of a filter, in the range that is looked at. */
export function readRows({ query }: Route, q: string): string {
  return link('runs', { q: [query.get('q') ?? '', q].join(' ').trim(), ...readTimes(query) });
}

/** What of the address says when. */
export function readTimes(query: URLSearchParams): Parameters {
  return { range: query.get('range'), since: query.get('since'), until: query.get('until') };
}

/** Another view of the range that is looked at. */
export const toView = (view: string): string => link(view, readTimes(readRoute().query));

/** The address of here with other parameters. */
export function here({ view, args, query }: Route, parameters: Parameters): string {
  return link([view, ...args].join('/'), { ...Object.fromEntries(query), ...parameters });
}

/** Replaces the address without a step in the history. */
export function replaceRoute(address: string): void {
  history.replaceState(history.state, '', address);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const read = () => setRoute(readRoute());
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return route;
}

const RANGES = {
  '15m': 900e3,
  '1h': 3600e3,
  '24h': 86_400e3,
  '7d': 7 * 86_400e3,
  '30d': 30 * 86_400e3,
} as const;

/** The ranges of time that can be chosen, with their names. */
export const RANGE_NAMES: readonly (readonly [keyof typeof RANGES, string])[] = [
  ['15m', 'Last 15 min'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 h'],
  ['7d', 'Last 7 d'],
  ['30d', 'Last 30 d'],
];

/** A range of time: the last so many milliseconds, or a fixed one. */
export interface Range {
  readonly lastMs: number;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** The range in the address, 24 hours without one. */
export function readRange({ query }: Route): Range {
  const [since, until] = ['since', 'until'].map((name) => Number(query.get(name) ?? Number.NaN));
  if (since !== undefined && until !== undefined && since >= 0 && since < until && until < MAX_MS)
    return { lastMs: until - since, sinceMs: since, untilMs: until };
  const range = query.get('range') ?? '24h';
  return { lastMs: Object.hasOwn(RANGES, range) ? RANGES[range as keyof typeof RANGES] : RANGES['24h'] };
}

const MAX_MS = 9_999_999_999_999;
const HOUR_MS = 3_600_000;

/** The range as the server is asked for it. */
export function askRange({ lastMs, sinceMs, untilMs }: Range): Record<string, string> {
  if (sinceMs === undefined || untilMs === undefined) return { last: String(lastMs) };
  return { since: String(sinceMs), until: String(untilMs) };
}

/** The same where roll-ups answer, which are by the hour: the same question within one. */
export function askHours(range: Range): Record<string, string> {
  if (range.sinceMs !== undefined) return askRange(range);
  return { since: String(Math.floor((Date.now() - range.lastMs) / HOUR_MS) * HOUR_MS) };
}

/** The address of here that shows the same tomorrow. */
export function fixedAddress(route: Route): string {
  const { lastMs, sinceMs, untilMs = Date.now() } = readRange(route);
  const times = { range: '', since: sinceMs ?? untilMs - lastMs, until: untilMs };
  return new URL(here(route, times), location.href).href;
}

/** The list that a run was opened from, and how far it was scrolled. */
let list = link('runs');
const scrolls = new Map<string, number>();
let isBack = false;

/** Where a run leads back to. */
export const listAddress = (): string => list;

/** Goes back to the list as it was left. */
export function goBack(): void {
  isBack = true;
  location.hash = list;
}

const MAX_RESTORE_MS = 5000;

/** Keeps how far each address is scrolled, and scrolls there again when somebody comes back to it. */
export function keepScroll(): void {
  history.scrollRestoration = 'manual';
  let at = location.hash;
  const note = () => {
    if (readRoute().view === 'runs') list = location.hash === '' ? link('runs') : location.hash;
  };
  note();
  addEventListener('scroll', () => scrolls.set(at, scrollY), { passive: true });
  addEventListener('popstate', () => {
    isBack ||= history.state === VISITED;
    if (history.state !== VISITED) history.replaceState(VISITED, '');
  });
  history.replaceState(VISITED, '');
  addEventListener('hashchange', () => {
    note();
    if (at.split('?')[0] === location.hash.split('?')[0]) at = location.hash;
    else {
      at = location.hash;
      restore(isBack ? (scrolls.get(at) ?? 0) : 0);
    }
    isBack = false;
  });
}

const VISITED = 'visited';

/** Scrolls as soon as the view is long enough, unless somebody scrolls or goes on first. */
function restore(top: number): void {
  const [hash, began] = [location.hash, performance.now()];
  const stop = new AbortController();
  for (const name of ['wheel', 'touchstart', 'keydown'])
    addEventListener(name, () => stop.abort(), { signal: stop.signal, passive: true });
  const step = () => {
    if (stop.signal.aborted || location.hash !== hash) return;
    if (document.documentElement.scrollHeight - innerHeight >= top) scrollTo(0, top);
    if (Math.abs(scrollY - top) > 1 && performance.now() - began < MAX_RESTORE_MS)
      requestAnimationFrame(step);
    else stop.abort();
  };
  requestAnimationFrame(step);
}
