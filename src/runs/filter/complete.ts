import { formatCounted } from '../units.ts';
import { FILTER_FIELDS, findFilterField } from './fields.ts';

/** One way to go on at the caret. */
export interface FilterCompletion {
  /** Shown in the list. */
  readonly label: string;
  readonly hint: string;
  /** The whole filter with it, and where the caret goes. */
  readonly text: string;
  readonly caret: number;
}

const MAX_COMPLETIONS = 10;

/** Names seen in what is shown, by field, with how often: values are completed from them. */
export type SeenNames = Readonly<Record<string, ReadonlyMap<string, number>>>;

/** What may come at the caret: fields, or after an operator the values of the field. */
export function complete(text: string, caret: number, seen: SeenNames = {}): readonly FilterCompletion[] {
  const start = Math.max(text.lastIndexOf(' ', caret - 1), -1) + 1;
  const word = text.slice(start, caret);
  const match = /^(-?)([A-Za-z_]{0,40})((?:>=|<=|:|>|<)?)(.{0,200})$/u.exec(word);
  if (match === null) return [];
  const [, sign = '', name = '', operator = '', value = ''] = match;
  const put = (label: string, hint: string, inserted: string, space: string): FilterCompletion => {
    const before = text.slice(0, start) + inserted + space;
    return { label, hint, text: before + text.slice(caret).trimStart(), caret: before.length };
  };
  if (operator === '') {
    return FILTER_FIELDS.filter((field) => field.name.startsWith(name.toLowerCase()))
      .slice(0, MAX_COMPLETIONS)
      .map((field) => {
        const isOrdered = field.kind === 'number' || field.kind === 'duration';
        return put(field.name, field.hint, `${sign}${field.name}${isOrdered ? '>' : ':'}`, '');
      });
  }
  const field = findFilterField(name);
  if (field === undefined) return [];
  const wanted = value.replaceAll('"', '').toLowerCase();
  const values =
    field.words?.map((known): [string, string] => [known, '']) ??
    [...(seen[field.name] ?? [])]
      .sort((a, b) => b[1] - a[1])
      .map(([known, count]): [string, string] => [known, formatCounted(count, 'run')]);
  return values
    .filter(([known]) => known.toLowerCase().includes(wanted) && known !== value)
    .slice(0, MAX_COMPLETIONS)
    .map(([known, hint]) => {
      return put(known, hint, `${sign}${field.name}${operator}${filterValue(known)}`, ' ');
    });
}

/** A value as a filter takes it: in quotes if it holds a space, a comma or a quote. */
export function filterValue(value: string): string {
  return /[\s",]/u.test(value) ? `"${value.replaceAll('"', '')}"` : value;
}
