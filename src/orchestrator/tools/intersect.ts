import { type AnySchema, type Schema, sameJson, setKey } from './json-schema.ts';

/** Says what cannot be written as one schema; callers then keep the two apart. */
export class NotMergeable extends Error {}

const LARGER_WINS = new Set([
  'minimum',
  'exclusiveMinimum',
  'minLength',
  'minItems',
  'minProperties',
  'minContains',
]);
const SMALLER_WINS = new Set([
  'maximum',
  'exclusiveMaximum',
  'maxLength',
  'maxItems',
  'maxProperties',
  'maxContains',
]);
const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', '$comment', 'propertyOrdering']);
const OBJECT_KEYWORDS = new Set(['properties', 'additionalProperties', 'patternProperties']);

/**
 * One schema that accepts exactly what both accept, as `allOf` of the two does; where both describe, the first
 * is heard.
 *
 * @throws NotMergeable when the two cannot be written as one.
 */
export function intersect(a: AnySchema, b: AnySchema): AnySchema {
  if (a === true || b === true) return a === true ? b : a;
  if (a === false || b === false) return false;
  if (sameJson(a, b)) return a;
  if (a.$ref !== undefined && b.$ref !== undefined) throw new NotMergeable('two references');
  const merged: Schema = {};
  for (const keyword of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (OBJECT_KEYWORDS.has(keyword)) continue;
    const [left, right] = [a[keyword], b[keyword]];
    if (left === undefined || right === undefined || sameJson(left, right)) {
      merged[keyword] = left ?? right;
      continue;
    }
    const value = intersectKeyword(keyword, left, right);
    if (value === false) return false;
    merged[keyword] = value;
  }
  return intersectObjects(merged, a, b) ? merged : false;
}

function intersectKeyword(keyword: string, a: unknown, b: unknown): unknown {
  if (ANNOTATIONS.has(keyword)) return a;
  if (LARGER_WINS.has(keyword)) return Math.max(a as number, b as number);
  if (SMALLER_WINS.has(keyword)) return Math.min(a as number, b as number);
  switch (keyword) {
    case 'type':
      return intersectTypes([a].flat() as string[], [b].flat() as string[]);
    case 'required':
      return [...new Set([...(a as string[]), ...(b as string[])])];
    case 'enum': {
      const both = (a as unknown[]).filter((each) => (b as unknown[]).some((other) => sameJson(each, other)));
      return both.length > 0 && both;
    }
    case 'const':
      return false; // two different constants
    case 'items':
    case 'propertyNames':
    case 'contains':
    case 'unevaluatedProperties':
      if (keyword === 'contains') break; // either may be met by another item
      return intersect(a as AnySchema, b as AnySchema);
    case 'allOf':
      return [...(a as AnySchema[]), ...(b as AnySchema[])];
    case 'uniqueItems':
    case 'deprecated':
    case 'readOnly':
    case 'writeOnly':
      return a === true || b === true;
  }
  throw new NotMergeable(keyword);
}

function intersectTypes(a: readonly string[], b: readonly string[]): string | string[] | false {
  const both = a.flatMap((each) => {
    if (b.includes(each)) return [each];
    // Every integer is a number.
    if (each === 'integer' && b.includes('number')) return ['integer'];
    if (each === 'number' && b.includes('integer')) return ['integer'];
    return [];
  });
  const types = [...new Set(both)];
  return types.length > 1 ? types : (types[0] ?? false);
}

/** The three object keywords say together which keys there may be; false when a required one may not. */
function intersectObjects(merged: Schema, a: Schema, b: Schema): boolean {
  const [ofA, ofB] = [new Properties(a), new Properties(b)];
  if (!ofA.used && !ofB.used) return true;
  if (ofA.patterns !== undefined || ofB.patterns !== undefined) {
    if (ofA.used && ofB.used && !sameJson(ofA.patterns, ofB.patterns))
      throw new NotMergeable('patternProperties');
    merged.patternProperties = ofA.patterns ?? ofB.patterns;
  }
  const properties: Schema = {};
  const names = new Set([...Object.keys(ofA.named), ...Object.keys(ofB.named)]);
  for (const name of names) {
    const schema = intersect(ofA.schemaOf(name), ofB.schemaOf(name));
    if (schema !== false) setKey(properties, name, schema);
    else if ((merged.required as string[] | undefined)?.includes(name)) return false;
    else if (ofA.others !== false && ofB.others !== false) setKey(properties, name, false);
  }
  if (names.size > 0) merged.properties = properties;
  const others = intersect(ofA.others, ofB.others);
  if (others !== true || (a.additionalProperties ?? b.additionalProperties) === true)
    merged.additionalProperties = others;
  return true;
}

class Properties {
  readonly named: Schema;
  readonly others: AnySchema;
  readonly patterns: unknown;
  readonly used: boolean;

  constructor(schema: Schema) {
    this.named = (schema.properties ?? {}) as Schema;
    this.others = (schema.additionalProperties ?? true) as AnySchema;
    this.patterns = schema.patternProperties;
    this.used = schema.properties !== undefined || this.others !== true || this.patterns !== undefined;
  }

  schemaOf(name: string): AnySchema {
    return Object.hasOwn(this.named, name) ? (this.named[name] as AnySchema) : this.others;
  }
}
