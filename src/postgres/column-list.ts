import { COLUMNS, type Column, FIELDS, type SqlType } from '../base/index.ts';
import { JSON_COLUMNS } from './span-json.ts';

export interface ScalarColumn {
  readonly position: number;
  readonly sqlType: Exclude<SqlType, 'jsonb'>;
}

/** Columns other than JSON, in the order of the table. */
export const SCALAR_COLUMNS: readonly ScalarColumn[] = FIELDS.flatMap(({ sqlType }, position) =>
  sqlType === 'jsonb' ? [] : [{ sqlType, position }],
);

/** The columns of the rows of one COPY. Texts and JSON come last, because they are written at once. */
export interface ColumnList {
  readonly columns: readonly Column[];
  readonly fixed: readonly ScalarColumn[];
  readonly texts: readonly ScalarColumn[];
  /** Positions of the columns that are not in it. */
  readonly absent: readonly number[];
}

export const ALL_COLUMNS: ColumnList = firstNames(SCALAR_COLUMNS);

/**
 * The columns that have had a value so far. Most programs fill less than half of them, and each null costs a row four
 * bytes and the server a look.
 */
export class UsedColumns {
  readonly #isUsed = new Uint8Array(COLUMNS.length);
  #list: ColumnList | undefined = ALL_COLUMNS;

  /** The list of these columns, as long as none is added. @defaultValue all, before the first row */
  get list(): ColumnList {
    this.#list ??= firstNames(SCALAR_COLUMNS.filter(({ position }) => this.#isUsed[position] === 1));
    return this.#list;
  }

  /** Adds the columns that have a value, by position. */
  add(values: readonly unknown[]): void {
    for (let i = 0; i < values.length; i += 1) {
      if (values[i] === null || this.#isUsed[i] === 1) continue;
      this.#isUsed[i] = 1;
      this.#list = undefined;
    }
  }
}

/** Whether all values, by position, are of columns in the list. */
export function holds({ absent }: ColumnList, values: readonly unknown[]): boolean {
  for (let i = 0; i < absent.length; i += 1) if (values[absent[i] as number] !== null) return false;
  return true;
}

function firstNames(scalars: readonly ScalarColumn[]): ColumnList {
  const fixed = scalars.filter(({ sqlType }) => sqlType !== 'text');
  const texts = scalars.filter(({ sqlType }) => sqlType === 'text');
  const columns = [...fixed, ...texts].map(({ position }) => COLUMNS[position] as Column);
  const absent = SCALAR_COLUMNS.filter((column) => !scalars.includes(column)).map(({ position }) => position);
  return { columns: [...columns, ...JSON_COLUMNS], fixed, texts, absent };
}
