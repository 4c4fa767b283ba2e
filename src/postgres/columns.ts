import {
  attributeNamesOf,
  COLUMNS,
  type Column,
  FIELDS,
  type FieldDefinition,
  resourceNamesOf,
} from '../base/index.ts';

/** A column that an attribute may fill, and how far down the list of its names the attribute stands. */
export interface ColumnTarget {
  readonly field: FieldDefinition;
  /** Of the column, in `FIELDS`. */
  readonly position: number;
  readonly rank: number;
  /** Whether it is the column's own name or the standard one, which the column tells without words. */
  readonly isStandard: boolean;
}

const POSITIONS: ReadonlyMap<Column, number> = new Map(COLUMNS.map((column, position) => [column, position]));

/** Index of a column in `FIELDS`. */
export function positionOf(column: Column): number {
  return POSITIONS.get(column) as number;
}

/** Which columns an attribute of a span, or of its resource, may fill, by the attribute's name. */
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
