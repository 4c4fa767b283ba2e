import {
  COLUMNS,
  type Column,
  FIELDS,
  type FieldDefinition,
  listAttributeNames,
  listResourceNames,
} from '../base/index.ts';
import { isGenAiName } from '../interaction/index.ts';
import { type Coercion, coerce, coercionTo } from './coerce.ts';
import { type EntryHead, KnownNames } from './known-names.ts';
import { MARK_ATTRIBUTES } from './marks.ts';

/** A column that an attribute may fill. */
interface ColumnTarget {
  readonly to: Coercion;
  /** Index of the column in `FIELDS`. */
  readonly position: number;
  /** Index of the attribute in the list of the column's names; the lowest wins. */
  readonly rank: number;
}

const POSITIONS: ReadonlyMap<Column, number> = new Map(COLUMNS.map((column, position) => [column, position]));

/** Index of a column in `FIELDS`. */
export function toPosition(column: Column): number {
  return POSITIONS.get(column) as number;
}

type Carrier = 'span' | 'resource';

/** Columns that attributes of a span, or of its resource, may fill, by the attribute's name. */
function columnsReadFrom(carrier: Carrier): ReadonlyMap<string, readonly ColumnTarget[]> {
  const namesOf = carrier === 'span' ? listAttributeNames : listResourceNames;
  const targets = new Map<string, ColumnTarget[]>();
  FIELDS.forEach((field: FieldDefinition, position) => {
    const to = coercionTo(field);
    // The span may have another id: that of the resource stays in its JSON.
    const first = carrier === 'resource' && field.origin !== 'resource' ? 2 : 0;
    namesOf(field).forEach((name, at) => {
      const target = { to, position, rank: first + at };
      targets.set(name, [...(targets.get(name) ?? []), target]);
    });
  });
  return targets;
}

const TARGETS = { span: columnsReadFrom('span'), resource: columnsReadFrom('resource') };

/** The decision on an attribute's name. */
interface NameUse {
  readonly targets: readonly ColumnTarget[];
  /** Whether it is of a GenAI or MCP dialect. */
  readonly isGenAi: boolean;
  /** Whether it holds marks of an earlier row. */
  readonly isMark: boolean;
}

const NO_TARGETS: readonly ColumnTarget[] = [];

/** The last rank of each column's own and standard names: the column is equivalent to an attribute of such a name. */
const STANDARD_RANKS = Uint8Array.from(FIELDS, ({ origin }) => (origin === 'attribute' ? 1 : 0));

/** Worse than any rank. */
const NO_RANK = 255;

/**
 * Reads attributes, each once, and assigns each column the best of those that may fill it. A divider is reused for many
 * spans, because creating its lists would cost more than the work.
 */
export class AttributeDivider {
  /** Values of the attributes, by the index of their keys. */
  readonly given: unknown[] = [];
  readonly #known: KnownNames<NameUse>;
  readonly #maxColumnChars: number;
  readonly #ranks = new Uint8Array(COLUMNS.length).fill(NO_RANK);
  readonly #keyOfColumn = new Uint32Array(COLUMNS.length);
  readonly #filled: number[] = [];
  readonly #heads: (EntryHead | undefined)[] = [];
  #keys: readonly string[] = [];
  #isHeld = new Uint8Array(64);
  #hasGenAi = false;
  #hasMarks = false;

  constructor(carrier: Carrier, maxColumnChars: number) {
    this.#known = new KnownNames((name) => ({
      targets: TARGETS[carrier].get(name) ?? NO_TARGETS,
      isGenAi: isGenAiName(name),
      isMark: carrier === 'span' && MARK_ATTRIBUTES.includes(name),
    }));
    this.#maxColumnChars = maxColumnChars;
  }

  /** Names of the attributes. */
  get keys(): readonly string[] {
    return this.#keys;
  }

  /** Whether `attributes` need not repeat it: a column is equivalent, or it holds marks. */
  isHeld(key: number): boolean {
    return this.#isHeld[key] === 1;
  }

  /** See {@link KnownNames}. */
  headOf(key: number): EntryHead | undefined {
    return this.#heads[key];
  }

  /** Whether any attribute is of a GenAI or MCP dialect. */
  get hasGenAi(): boolean {
    return this.#hasGenAi;
  }

  /** Whether there are marks of an earlier row. */
  get hasMarks(): boolean {
    return this.#hasMarks;
  }

  /** Positions of the filled columns. */
  get filled(): readonly number[] {
    return this.#filled;
  }

  /** The attribute that fills a column. */
  nameBehind(position: number): string | undefined {
    return this.#ranks[position] === NO_RANK ? undefined : this.#keys[this.#keyOfColumn[position] as number];
  }

  /** To be called when a filled column is emptied: `attributes` then repeats what filled it. */
  release(position: number): void {
    this.#isHeld[this.#keyOfColumn[position] as number] = 0;
  }

  /** Fills `values`, which are by position of the column. */
  divide(attributes: Readonly<Record<string, unknown>>, values: unknown[]): void {
    const keys = Object.keys(attributes);
    this.#clear(keys.length);
    this.#keys = keys;
    for (let i = 0; i < keys.length; i += 1) {
      const key = keys[i] as string;
      const { is, head } = this.#known.at(i, key);
      const value = attributes[key];
      this.given[i] = value;
      this.#heads[i] = head;
      if (is.isGenAi) this.#hasGenAi = true;
      if (is.isMark) {
        this.#hasMarks = true;
        this.#isHeld[i] = 1;
      }
      if (is.targets !== NO_TARGETS) this.#fill(is.targets, i, value, values);
    }
    for (let i = 0; i < this.#filled.length; i += 1) {
      const position = this.#filled[i] as number;
      if ((this.#ranks[position] as number) > (STANDARD_RANKS[position] as number)) continue;
      const key = this.#keyOfColumn[position] as number;
      if (!Array.isArray(this.given[key])) this.#isHeld[key] = 1;
    }
  }

  #fill(targets: readonly ColumnTarget[], key: number, given: unknown, values: unknown[]): void {
    for (let i = 0; i < targets.length; i += 1) {
      const { to, position, rank } = targets[i] as ColumnTarget;
      const best = this.#ranks[position] as number;
      if (best <= rank) continue;
      const value = coerce(given, to, this.#maxColumnChars);
      if (value === undefined) continue;
      if (best === NO_RANK) this.#filled.push(position);
      this.#ranks[position] = rank;
      this.#keyOfColumn[position] = key;
      values[position] = value;
    }
  }

  #clear(keys: number): void {
    for (const position of this.#filled) this.#ranks[position] = NO_RANK;
    this.#filled.length = 0;
    this.#hasGenAi = false;
    this.#hasMarks = false;
    // Else the values of an earlier span with more attributes would stay in memory.
    if (keys < this.given.length) this.given.length = keys;
    if (keys < this.#heads.length) this.#heads.length = keys;
    if (keys > this.#isHeld.length) this.#isHeld = new Uint8Array(2 * keys);
    else this.#isHeld.fill(0, 0, keys);
  }
}
