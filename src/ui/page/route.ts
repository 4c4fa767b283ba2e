import { useEffect, useState } from 'preact/hooks';

/** Where the page is: `#/view/argument/tab?q=...`. A pasted address shows the same thing. */
export interface Route {
  readonly view: string;
  readonly args: readonly string[];
  readonly query: URLSearchParams;
}

export function readRoute(): Route {
  const [path = '', query = ''] = location.hash.slice(2).split('?', 2);
  const [view = '', ...args] = path.split('/').map(decoded);
  return { view: view === '' ? 'runs' : view, args, query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
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
  return link('runs', { q, range: query.get('range') });
}

/** The address of here with other parameters. */
export function here({ view, args, query }: Route, parameters: Parameters): string {
  return link([view, ...args].join('/'), { ...Object.fromEntries(query), ...parameters });
}

/** Replaces the address without a step in the history. */
export function replaceRoute(address: string): void {
  history.replaceState(null, '', address);
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

/** Milliseconds of the range in the address, 24 hours without one. */
export function readRange({ query }: Route): number {
  const range = query.get('range') ?? '24h';
  return Object.hasOwn(RANGES, range) ? RANGES[range as keyof typeof RANGES] : RANGES['24h'];
}
