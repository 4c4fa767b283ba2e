/** Keywords that apply other schemas, to the same value or to its parts. */
import { isObject, type JsonObject } from '../lenient-json.ts';
import { hasAll, misused, readNames } from './assertions.ts';
import { Evaluated } from './evaluated.ts';
import type { PatternTest } from './patterns.ts';
import type { SchemaNode, SchemaRun, Validate } from './run.ts';

/** What applicators are compiled with. */
export interface ApplicatorContext {
  /** True for 2020-12, where `prefixItems` has the place of an array in `items`. */
  readonly isLatest: boolean;
  node(schema: unknown): SchemaNode;
  /** Compiles a subschema that counts against the value if it holds. */
  opposite(schema: unknown): SchemaNode;
  pattern(source: string): SchemaPattern;
}

/** A compiled pattern. As with nodes, `matches` is set after the object is known to others. */
export interface SchemaPattern {
  matches: PatternTest;
  /** It cannot be run: it may match any name, and nothing follows from that. */
  isUnchecked?: boolean;
}

type Applicator = (schema: JsonObject, context: ApplicatorContext) => Validate | undefined;

function readNodes(schema: JsonObject, keyword: string, { node }: ApplicatorContext): readonly SchemaNode[] {
  const list = schema[keyword];
  if (!Array.isArray(list) || list.length === 0) throw misused(keyword, 'a list of schemas');
  return list.map(node);
}

function nodesByName(
  schema: JsonObject,
  keyword: string,
  { node }: ApplicatorContext,
): [string, SchemaNode][] {
  const map = schema[keyword];
  if (!isObject(map)) throw misused(keyword, 'schemas by name');
  return Object.keys(map).map((name) => [name, node(map[name])]);
}

function allOf(schema: JsonObject, context: ApplicatorContext): Validate {
  const nodes = readNodes(schema, 'allOf', context);
  return (value, run, seen) => nodes.every((node) => node.validate(value, run, seen));
}

/** Applies a schema whose failure means nothing; what it evaluated counts only if it holds. */
function holds(node: SchemaNode, value: unknown, run: SchemaRun, seen: Evaluated | undefined): boolean {
  if (seen === undefined) return node.validate(value, run, undefined);
  const own = new Evaluated();
  if (!node.validate(value, run, own)) return false;
  seen.addAll(own, run.budget);
  return true;
}

function anyOf(schema: JsonObject, context: ApplicatorContext): Validate {
  const nodes = readNodes(schema, 'anyOf', context);
  return (value, run, seen) => {
    let isAny = false;
    for (const node of nodes) {
      if (!holds(node, value, run, seen)) continue;
      isAny = true;
      if (seen === undefined) break;
    }
    return isAny || run.fail('must match a schema in anyOf');
  };
}

function oneOf(schema: JsonObject, context: ApplicatorContext): Validate {
  const nodes = readNodes(schema, 'oneOf', context);
  const others = readNodes(schema, 'oneOf', { ...context, node: context.opposite });
  const message = 'must match exactly one schema in oneOf';
  if (nodes.some((node, index) => node !== others[index])) {
    // One fits, and none of the others may.
    return (value, run, seen) => {
      const possible = others.map((node) => holds(node, value, run, undefined));
      const count = possible.filter(Boolean).length;
      return (
        nodes.some((node, at) => count === Number(possible[at]) && holds(node, value, run, seen)) ||
        run.fail(message)
      );
    };
  }
  return (value, run, seen) => {
    let found = 0;
    for (const node of nodes) {
      if (holds(node, value, run, seen)) found += 1;
      if (found > 1) break;
    }
    return found === 1 || run.fail(message);
  };
}

function not(schema: JsonObject, { opposite }: ApplicatorContext): Validate {
  const denied = opposite(schema.not);
  return (value, run) => !denied.validate(value, run, undefined) || run.fail('must NOT be valid');
}

function ifThenElse(schema: JsonObject, { node, opposite }: ApplicatorContext): Validate {
  const condition = node(schema.if);
  const contrary = opposite(schema.if);
  const then = schema.then === undefined ? undefined : node(schema.then);
  const otherwise = schema.else === undefined ? undefined : node(schema.else);
  return (value, run, seen) => {
    const isMet = holds(condition, value, run, seen);
    const isUnmet = contrary === condition ? !isMet : !holds(contrary, value, run, undefined);
    return (
      (isUnmet || then === undefined || then.validate(value, run, seen)) &&
      (isMet || otherwise === undefined || otherwise.validate(value, run, seen))
    );
  };
}

/** Up to so many properties are looked up in the value; otherwise the keys of the value are gone through. */
const SHORT = 8;

/** `properties`, `patternProperties` and `additionalProperties`, which is about the keys the others leave. */
function members(schema: JsonObject, context: ApplicatorContext): Validate {
  const named = new Map(schema.properties === undefined ? [] : nodesByName(schema, 'properties', context));
  const patterns = (
    schema.patternProperties === undefined ? [] : nodesByName(schema, 'patternProperties', context)
  ).map(([source, node]) => ({ name: context.pattern(source), node }));
  const { additionalProperties } = schema;
  const further = additionalProperties === undefined ? undefined : context.node(additionalProperties);
  const isClosed = additionalProperties === false;
  const entries = [...named];
  const isShort = entries.length <= SHORT && patterns.length === 0 && further === undefined;
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    if (isShort && seen === undefined) {
      run.budget.spend(entries.length);
      for (const [key, node] of entries) {
        if (Object.hasOwn(value, key) && !node.validate(value[key], run, undefined)) return run.under(key);
      }
      return true;
    }
    const keys = Object.keys(value);
    run.budget.spend(2 * keys.length);
    for (const key of keys) {
      const member = value[key];
      const node = named.get(key);
      let isKnown = node !== undefined;
      if (node?.validate(member, run, undefined) === false) return run.under(key);
      for (const pattern of patterns) {
        if (!pattern.name.matches(key, run.budget)) continue;
        isKnown = true;
        if (pattern.name.isUnchecked === true) continue;
        if (!pattern.node.validate(member, run, undefined)) return run.under(key);
      }
      if (!isKnown && further !== undefined) {
        if (isClosed) return run.fail('must NOT have additional properties');
        if (!further.validate(member, run, undefined)) return run.under(key);
        isKnown = true;
      }
      if (isKnown) seen?.addName(key);
    }
    return true;
  };
}

function propertyNames(schema: JsonObject, { node }: ApplicatorContext): Validate {
  const name = node(schema.propertyNames);
  return (value, run) => {
    if (!isObject(value)) return true;
    const keys = Object.keys(value);
    run.budget.spend(keys.length);
    return keys.every((key) => name.validate(key, run, undefined) || run.fail('property name must be valid'));
  };
}

/** `prefixItems` and `items`; in older drafts an array of `items` and `additionalItems`. */
function items(schema: JsonObject, context: ApplicatorContext): Validate {
  // Also in 2020-12, where it means nothing else: many tools write it without a `$schema`.
  const isOld = Array.isArray(schema.items);
  const prefixKeyword = isOld ? 'items' : 'prefixItems';
  const hasPrefix = (isOld || context.isLatest) && schema[prefixKeyword] !== undefined;
  // Unlike `allOf`, the array of older drafts may be empty.
  const isEmpty = isOld && (schema.items as unknown[]).length === 0;
  const prefix = hasPrefix && !isEmpty ? readNodes(schema, prefixKeyword, context) : [];
  const rest = isOld ? schema.additionalItems : schema.items;
  const further = rest === undefined ? undefined : context.node(rest);
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    run.budget.spend(2 * value.length);
    const end = further === undefined ? Math.min(prefix.length, value.length) : value.length;
    for (let i = 0; i < end; i += 1) {
      const node = prefix[i] ?? further;
      if (node?.validate(value[i], run, undefined) === false) return run.under(i);
    }
    seen?.addItemsBefore(end);
    return true;
  };
}

function contains(schema: JsonObject, { node, opposite, isLatest }: ApplicatorContext): Validate {
  const wanted = node(schema.contains);
  const unwanted = opposite(schema.contains);
  const min = readCount(schema, 'minContains') ?? 1;
  const max = readCount(schema, 'maxContains') ?? Number.POSITIVE_INFINITY;
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    run.budget.spend(2 * value.length);
    let found = 0;
    let most = 0;
    for (const [index, item] of value.entries()) {
      if (unwanted !== wanted && unwanted.validate(item, run, undefined)) most += 1;
      if (!wanted.validate(item, run, undefined)) continue;
      found += 1;
      if (isLatest) seen?.addIndex(index);
    }
    return (
      (found >= min && (unwanted === wanted ? found : most) <= max) ||
      run.fail(`must contain at least ${min} valid item(s)`)
    );
  };
}

function readCount(schema: JsonObject, keyword: string): number | undefined {
  const count = schema[keyword];
  if (count === undefined) return undefined;
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0) {
    throw misused(keyword, 'a whole number from 0');
  }
  return count;
}

/** `dependentRequired`, `dependentSchemas`, and `dependencies`, which was both. */
function dependents(keyword: string): Applicator {
  return (schema, { node }) => {
    const map = schema[keyword];
    if (!isObject(map)) throw misused(keyword, 'an object');
    const wantsNames = (given: unknown) =>
      keyword !== 'dependentSchemas' && (Array.isArray(given) || keyword === 'dependentRequired');
    const rules = Object.keys(map).map((key) => {
      const given = map[key];
      return wantsNames(given) ? { key, names: readNames(given, keyword) } : { key, node: node(given) };
    });
    return (value, run, seen) => {
      if (!isObject(value)) return true;
      run.budget.spend(rules.length);
      for (const { key, names, node: dependent } of rules) {
        if (!Object.hasOwn(value, key)) continue;
        if (names !== undefined && !hasAll(value, names, run)) return false;
        if (dependent?.validate(value, run, seen) === false) return false;
      }
      return true;
    };
  };
}

/** Runs after all other keywords of its schema, on what they left. `seen` is always there for it. */
function unevaluatedProperties(schema: JsonObject, { node }: ApplicatorContext): Validate {
  const rest = node(schema.unevaluatedProperties);
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    const keys = Object.keys(value);
    run.budget.spend(2 * keys.length);
    for (const key of keys) {
      if (seen?.hasName(key) === true || rest.validate(value[key], run, undefined)) continue;
      return schema.unevaluatedProperties === false
        ? run.fail('must NOT have unevaluated properties')
        : run.under(key);
    }
    seen?.addAllNames();
    return true;
  };
}

function unevaluatedItems(schema: JsonObject, { node }: ApplicatorContext): Validate {
  const rest = node(schema.unevaluatedItems);
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    run.budget.spend(2 * value.length);
    for (const [index, item] of value.entries()) {
      if (seen?.hasIndex(index) === true || rest.validate(item, run, undefined)) continue;
      return schema.unevaluatedItems === false
        ? run.fail('must NOT have unevaluated items')
        : run.under(index);
    }
    seen?.addItemsBefore(value.length);
    return true;
  };
}

/** Keywords that are compiled together; one of them is enough. */
export const APPLICATORS: readonly (readonly [readonly string[], Applicator])[] = [
  [['properties', 'patternProperties', 'additionalProperties'], members],
  [['prefixItems', 'items', 'additionalItems'], items],
  [['contains'], contains],
  [['propertyNames'], propertyNames],
  [['dependentRequired'], dependents('dependentRequired')],
  [['dependentSchemas'], dependents('dependentSchemas')],
  [['dependencies'], dependents('dependencies')],
  [['allOf'], allOf],
  [['anyOf'], anyOf],
  [['oneOf'], oneOf],
  [['not'], not],
  [['if'], ifThenElse],
];

/** The last keywords of a schema. */
export const LAST_APPLICATORS: readonly (readonly [string, Applicator])[] = [
  ['unevaluatedItems', unevaluatedItems],
  ['unevaluatedProperties', unevaluatedProperties],
];
