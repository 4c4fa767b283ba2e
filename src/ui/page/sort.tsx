import { here, type Route, replaceRoute } from './route.ts';

/** What rows are sorted by: in the address, the largest first; with `-` before it, the smallest. */
export interface Sort {
  readonly by: string;
  readonly isUp: boolean;
}

export function readSort({ query }: Route, first: string): Sort {
  const text = query.get('sort') ?? first;
  return text.startsWith('-') ? { by: text.slice(1), isUp: true } : { by: text, isUp: false };
}

/** Rows in this order; what has no value comes last. */
export function sortRows<T>(
  rows: readonly T[],
  { isUp }: Sort,
  read: ((row: T) => number | string | null) | undefined,
): readonly T[] {
  if (read === undefined) return rows;
  return [...rows].sort((a, b) => {
    const [one, other] = [read(a), read(b)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    const down = typeof one === 'string' ? one.localeCompare(String(other)) : Number(other) - one;
    return isUp ? -down : down;
  });
}

interface SortHeadProps {
  readonly route: Route;
  readonly sort: Sort;
  /** The column, in the address. */
  readonly by: string;
  readonly label?: string;
  readonly title?: string | undefined;
  readonly class?: string;
  /** Whether rows come in this order without a word in the address. */
  readonly isFirst?: boolean;
}

/** The head of a column that sorts by it; again, the other way round. */
export function SortHead({
  route,
  sort,
  by,
  label = by,
  title,
  class: look = 'num',
  isFirst,
}: SortHeadProps) {
  const isActive = sort.by === by;
  const next = isActive && !sort.isUp ? `-${by}` : isFirst ? '' : by;
  return (
    <th
      class={look}
      title={title}
      aria-sort={isActive ? (sort.isUp ? 'ascending' : 'descending') : undefined}
    >
      <button type="button" class="th" onClick={() => replaceRoute(here(route, { sort: next, limit: '' }))}>
        {label}
      </button>
    </th>
  );
}
