/** The figures of the summary from tables of `contest.ts`. */
import { type Figure, NOT_PRINTED, parted, type Table } from './figures.ts';

/** Our contenders that have a limit: where the pipeline is ours, and in somebody else's SDK. */
const OWNED = 'ours, startObservatory';
const THEIRS = 'ours in another SDK';

interface Limits {
  /** The tables that the limits are for. */
  readonly title: RegExp;
  /** Follows the names of our contenders there. */
  readonly suffix?: string;
  /** Added on the call's path at most; without, there is none. */
  readonly owned?: number;
  readonly theirs?: number;
}

/** What instrumentations add, a line for each of ours in each table of `contest.ts`. */
export function addedBy({ title, suffix = '', owned, theirs }: Limits): (table: Table) => readonly Figure[] {
  return (table) => {
    const tables = [...table.titled(/^(.+): CPU us per call/m)];
    const figures = tables.flatMap(([name, part]) =>
      part.rows('ours').flatMap(([contender = '', added = '', ratio = '', all = '', ratioOfAll = '']) => {
        const limit = { [OWNED + suffix]: owned, [THEIRS + suffix]: theirs }[contender];
        const isLimited = title.test(name) && limit !== undefined;
        return [
          {
            what: `${name}, ${contender}: added on the call's path, relative to spans made by hand (spread: us)`,
            median: ratio,
            spread: parted(added).spread,
            ...(isLimited && { aim: `<= ${limit}` }),
          },
          {
            what: `${name}, ${contender}: all CPU added, the export included, relative to the same (spread: us)`,
            median: ratioOfAll,
            spread: parted(all).spread,
            ...(isLimited && { aim: '<= 2' }),
          },
        ];
      }),
    );
    const missing = tables.some(([name]) => title.test(name)) ? [] : [missingFigure(`a table of ${title}`)];
    return [...figures, ...missing, ...flatness(tables)];
  };
}

/** Whether what is added depends on the size of the result, where a bench has tables of several sizes. */
function flatness(tables: readonly (readonly [name: string, table: Table])[]): readonly Figure[] {
  const sizes = tables
    .map(([name, table]) => ({ table, parts: /^(.* of) (\d+) characters$/.exec(name) }))
    .filter(({ parts }) => parts !== null)
    .map(({ table, parts }) => ({ table, what: parts?.[1] ?? '', chars: Number(parts?.[2]) }))
    .sort((a, b) => a.chars - b.chars);
  const [least, most] = [sizes[0], sizes.at(-1)];
  if (least === undefined || most === undefined || least === most) return [];
  return [OWNED, THEIRS]
    .filter((contender) => least.table.exact(contender) !== undefined)
    .map((contender) => {
      const [small, large] = [least, most].map(({ table }) => parted(table.exact(contender)?.[1] ?? ''));
      return {
        what: `${most.what} ${most.chars} characters, ${contender}: added on the call's path, relative to ${least.chars} characters (spread: us)`,
        median: (Number(large?.median) / Number(small?.median)).toFixed(2),
        spread: large?.spread ?? '',
        aim: '<= 1.25',
      };
    });
}

function missingFigure(what: string): Figure {
  return { what, median: NOT_PRINTED, spread: '' };
}
