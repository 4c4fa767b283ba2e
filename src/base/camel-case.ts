/**
 * The only conversion between naming styles: TypeScript says `promptHash`, columns and wire documents say
 * `prompt_hash`. Only names of the field dictionary are converted, by table; keys of user data (tool arguments,
 * results, prompts) never pass through here.
 */
import { type AttributeColumn, attributeOf, FIELDS, type FieldValues } from './fields.ts';

/** `hallucination_risk_score` -> `hallucinationRiskScore`. */
export type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** {@link FieldValues} under their TypeScript names. */
export type CamelFieldValues = {
  readonly [C in AttributeColumn as CamelCase<C>]?: FieldValues[C] | undefined;
};

const COLUMN_OF_CAMEL: ReadonlyMap<string, AttributeColumn> = new Map(
  FIELDS.filter((field) => field.origin === 'attribute').map((field) => [
    camelCase(field.column),
    field.column,
  ]),
);

/** Converts field values to columns. Fields that are `undefined`, and names the dictionary lacks, are left out. */
export function toColumns(fields: CamelFieldValues): FieldValues {
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const column = COLUMN_OF_CAMEL.get(name);
    if (column !== undefined && value !== undefined) values[column] = value;
  }
  return values as FieldValues;
}

/** The `observatory.*` attributes among a span's, under their TypeScript names. */
export function fromAttributes(attributes: Readonly<Record<string, unknown>>): CamelFieldValues {
  const fields: Record<string, unknown> = {};
  for (const [name, column] of COLUMN_OF_CAMEL) {
    const value = attributes[attributeOf(column)];
    if (value !== undefined) fields[name] = value;
  }
  return fields as CamelFieldValues;
}

function camelCase(column: string): string {
  return column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
