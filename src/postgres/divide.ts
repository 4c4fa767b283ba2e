import { attributeNamesOf, FIELDS, type FieldDefinition, resourceNamesOf } from '../fields.ts';
import { coerce, type Scalar } from './coerce.ts';
import type { Sanitiser } from './sanitise.ts';

/** A column that an attribute name may fill, and how far down its list the name stands. */
interface Target {
  readonly field: FieldDefinition;
  readonly rank: number;
}

/** The best attribute seen so far for a column. */
interface Winner {
  readonly name: string;
  readonly rank: number;
  readonly value: Scalar;
  /** Whether the column alone tells the attribute's name and value, so that `attributes` need not repeat it. */
  readonly isHeld: boolean;
}

/** Sends each attribute to the column it fills best; the rest becomes a JSON object. */
export function divideAttributes(
  entries: readonly (readonly [string, unknown])[],
  targets: ReadonlyMap<string, readonly Target[]>,
  sanitiser: Sanitiser,
): [values: ReadonlyMap<string, Scalar>, rest: Record<string, unknown>] {
  const winners = new Map<string, Winner>();
  for (const [name, value] of entries) {
    for (const { field, rank } of targets.get(name) ?? []) {
      const best = winners.get(field.column);
      if (best !== undefined && best.rank <= rank) continue;
      const coerced = coerce(value, field, sanitiser, name);
      if (coerced === undefined) continue;
      winners.set(field.column, { name, rank, value: coerced, isHeld: isToldBy(field, rank, value) });
    }
  }
  const values = new Map<string, Scalar>();
  const held = new Set<string>();
  for (const [column, winner] of winners) {
    values.set(column, winner.value);
    if (winner.isHeld) held.add(winner.name);
  }
  const rest: Record<string, unknown> = {};
  for (const [name, value] of entries) {
    if (value !== undefined && !held.has(name)) sanitiser.put(rest, name, value, name);
  }
  return [values, rest];
}

function isToldBy(field: FieldDefinition, rank: number, value: unknown): boolean {
  const isStandardName = rank <= (field.origin === 'attribute' ? 1 : 0);
  return isStandardName && !Array.isArray(value);
}

/** Which columns an attribute of a span, or of its resource, may fill. */
export function columnsReadFrom(carrier: 'span' | 'resource'): ReadonlyMap<string, readonly Target[]> {
  const namesOf = carrier === 'span' ? attributeNamesOf : resourceNamesOf;
  const targets = new Map<string, Target[]>();
  for (const field of FIELDS) {
    namesOf(field).forEach((name, rank) => {
      targets.set(name, [...(targets.get(name) ?? []), { field, rank }]);
    });
  }
  return targets;
}
