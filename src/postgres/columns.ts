import {
  attributeNamesOf,
  COLUMNS,
  type Column,
  FIELDS,
  type FieldDefinition,
  resourceNamesOf,
} from '../base/index.ts';
import { coerce, type Scalar } from './coerce.ts';

/** A column that an attribute may fill. */
interface ColumnTarget {
  readonly field: FieldDefinition;
  /** Index of the column in `FIELDS`. */
  readonly position: number;
  /** Index of the attribute in the list of the column's names; the lowest wins. */
  readonly rank: number;
  /** Whether the attribute has the column's own or the standard name, so that the column is equivalent to it. */
  readonly isStandard: boolean;
}

const POSITIONS: ReadonlyMap<Column, number> = new Map(COLUMNS.map((column, position) => [column, position]));

/** Index of a column in `FIELDS`. */
export function positionOf(column: Column): number {
  return POSITIONS.get(column) as number;
}

/** Columns that attributes of a span, or of its resource, may fill, by the attribute's name. */
export function columnsReadFrom(carrier: 'span' | 'resource'): ReadonlyMap<string, readonly ColumnTarget[]> {
  const namesOf = carrier === 'span' ? attributeNamesOf : resourceNamesOf;
  const targets = new Map<string, ColumnTarget[]>();
  FIELDS.forEach((field: FieldDefinition, position) => {
    const standardRanks = field.origin === 'attribute' ? 1 : 0;
    namesOf(field).forEach((name, rank) => {
      const target = { field, position, rank, isStandard: rank <= standardRanks };
      targets.set(name, [...(targets.get(name) ?? []), target]);
    });
  });
  return targets;
}

/** Worse than any rank. */
const NO_RANK = 255;

/**
 * Assigns each column the best of the attributes that may fill it. A divider is reused for many spans, because creating
 * its lists would cost more than the work.
 */
export class AttributeDivider {
  /** By position of the column; null where no attribute fills it. */
  readonly values: (Scalar | null)[] = COLUMNS.map(() => null);
  /** Names of the attributes behind the values. */
  readonly names: string[] = COLUMNS.map(() => '');
  readonly #targets: ReadonlyMap<string, readonly ColumnTarget[]>;
  readonly #maxColumnChars: number;
  readonly #winners: (ColumnTarget | undefined)[] = COLUMNS.map(() => undefined);
  readonly #ranks = new Uint8Array(COLUMNS.length).fill(NO_RANK);
  readonly #keyOfColumn = new Uint32Array(COLUMNS.length);
  readonly #filled: number[] = [];
  #isHeld = new Uint8Array(64);

  constructor(targets: ReadonlyMap<string, readonly ColumnTarget[]>, maxColumnChars: number) {
    this.#targets = targets;
    this.#maxColumnChars = maxColumnChars;
  }

  /** Whether a column is equivalent to the attribute, so that `attributes` need not repeat it. */
  readonly isHeld = (key: number): boolean => this.#isHeld[key] === 1;

  /** Empties a column; `attributes` then repeats what filled it. */
  release(position: number): void {
    this.values[position] = null;
    this.#isHeld[this.#keyOfColumn[position] as number] = 0;
  }

  /** Positions of the filled columns. */
  get filled(): readonly number[] {
    return this.#filled;
  }

  divide(attributes: Readonly<Record<string, unknown>>, keys: readonly string[]): void {
    this.#clear(keys.length);
    for (let i = 0; i < keys.length; i += 1) {
      const targets = this.#targets.get(keys[i] as string);
      if (targets !== undefined) this.#fill(targets, i, keys[i] as string, attributes);
    }
    for (const position of this.#filled) {
      if (this.#winners[position]?.isStandard !== true) continue;
      const key = this.#keyOfColumn[position] as number;
      if (!Array.isArray(attributes[keys[key] as string])) this.#isHeld[key] = 1;
    }
  }

  #fill(
    targets: readonly ColumnTarget[],
    key: number,
    name: string,
    attributes: Readonly<Record<string, unknown>>,
  ): void {
    for (const target of targets) {
      const { position, rank } = target;
      const best = this.#ranks[position] as number;
      if (best <= rank) continue;
      const value = coerce(attributes[name], target.field, this.#maxColumnChars);
      if (value === undefined) continue;
      if (best === NO_RANK) this.#filled.push(position);
      this.#ranks[position] = rank;
      this.#winners[position] = target;
      this.#keyOfColumn[position] = key;
      this.values[position] = value;
      this.names[position] = name;
    }
  }

  #clear(keys: number): void {
    for (const position of this.#filled) {
      this.#ranks[position] = NO_RANK;
      this.values[position] = null;
    }
    this.#filled.length = 0;
    if (keys > this.#isHeld.length) this.#isHeld = new Uint8Array(2 * keys);
    else this.#isHeld.fill(0, 0, keys);
  }
}
