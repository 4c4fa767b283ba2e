/** From a schema to the function that checks values: each keyword becomes one, and a subschema is a node of them. */
import { type Steps, takeAll } from '../../base/index.ts';
import { isObject, type JsonObject } from '../lenient-json.ts';
import { APPLICATORS, LAST_APPLICATORS, type SchemaPattern } from './applicators.ts';
import { ASSERTIONS, misused } from './assertions.ts';
import { Evaluated } from './evaluated.ts';
import {
  impliedTypes,
  listWants,
  type SchemaReading,
  type SchemaWants,
  toOpposite,
} from './implied-types.ts';
import { SUBSCHEMAS } from './metaschema.ts';
import { compilePattern } from './patterns.ts';
import { MisusedKeywordError, SchemaRefusedError, shown } from './refused.ts';
import { isOnlyReference, type Resource, Resources } from './resources.ts';
import type { SchemaNode, Validate } from './run.ts';
import type { StepBudget } from './steps.ts';

/** A keyword of our own: whether a value fits what the schema says; undefined if that cannot be judged. */
export type CustomKeyword = (given: unknown) => (value: unknown) => boolean | undefined;

export interface CompileOptions {
  /** Further schemas by absolute URI that `$ref` may reach. @defaultValue none */
  readonly remotes?: ReadonlyMap<string, unknown> | undefined;
  /** Whether `format` is checked; without it formats are annotations, as JSON Schema 2020-12 has it. @defaultValue true */
  readonly checksFormats?: boolean | undefined;
  /** For schemas an operator wrote: unknown keywords and formats are refused, and these keywords are known. @defaultValue undefined */
  readonly strictWith?: Readonly<Record<string, CustomKeyword>> | undefined;
  /**
   * How limits without a `type` are read, and the reverse below `not`: `narrow` accepts only what surely fits, `wide` all
   * that may. @defaultValue as JSON Schema has it
   */
  readonly reading?: SchemaReading | undefined;
  /**
   * For schemas a server wrote, which checks its arguments itself: patterns that no engine here can run are not checked
   * and named in {@link CompiledSchema.unchecked}. Keywords with a value they do not take assert nothing, and an unknown
   * `$schema` is read as the nearest one; {@link CompiledSchema.ignored} tells both. Else all refuse the schema. @defaultValue false
   */
  readonly isForeign?: boolean | undefined;
}

/** Keywords that take a list of schemas and nothing else. */
const LISTS: readonly string[] = SUBSCHEMAS.lists.filter((keyword) => keyword !== 'items');

const NO_REMOTES: ReadonlyMap<string, unknown> = new Map();

/** Keywords without effect on validity, or read elsewhere. All others are unknown. */
const ANNOTATIONS: ReadonlySet<string> = new Set(
  (
    '$schema $id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment $defs definitions title description ' +
    'default examples deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema nullable then else ' +
    'minContains maxContains'
  ).split(' '),
);

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
const APPLICATOR_NAMES: ReadonlySet<string> = new Set([
  ...APPLICATORS.flatMap(([names]) => names),
  ...LAST_APPLICATORS.map(([name]) => name),
]);

/** Steps for compiling one subschema, and for entering it. */
const COMPILE_STEPS = 250;
const ENTER_STEPS = 2;

const ALWAYS: SchemaNode = { validate: () => true };
/** What was not compiled to its end never counts as checked. */
const notCompiled = (): never => {
  throw new SchemaRefusedError('A part of the schema was not compiled');
};
const NEVER: SchemaNode = { validate: (_, run) => run.fail('boolean schema is false') };

/** Compiles the subschemas and patterns of one schema, each in a step of its own. */
export class Compiler {
  readonly validate: Validate;
  readonly wants: SchemaWants;
  readonly unchecked: string[] = [];
  /** Which keywords assert nothing, and why. */
  readonly ignored: string[] = [];
  readonly #resources: Resources;
  readonly #options: CompileOptions;
  readonly #nodes = { wide: new Map<object, SchemaNode>(), narrow: new Map<object, SchemaNode>() };
  /** What is still to be compiled: subschemas and patterns, each on its own. */
  readonly #pending: (() => void)[] = [];
  #budget: StepBudget;

  constructor(schema: unknown, options: CompileOptions, budget: StepBudget) {
    this.#options = options;
    this.#budget = budget;
    this.#resources = new Resources(schema, options.remotes ?? NO_REMOTES, budget, (error) =>
      this.#ignore(error),
    );
    const { root } = this.#resources;
    const node = this.#node(schema, root, options.reading ?? 'wide');
    this.wants = isObject(schema) && !isOnlyReference(schema, root) ? listWants(schema) : {};
    this.validate = (value, run, seen) => node.validate(value, run, seen);
  }

  *steps(): Steps<void> {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      next();
      yield;
    }
  }

  /** The node of a schema, which is compiled in a later step. */
  #node(schema: unknown, near: Resource, reading: SchemaReading): SchemaNode {
    if (schema === true) return ALWAYS;
    if (schema === false) return NEVER;
    if (!isObject(schema)) {
      this.#ignore(new MisusedKeywordError(`A schema is an object or a boolean, not ${shown(schema)}`));
      return ALWAYS;
    }
    const known = this.#nodes[reading].get(schema);
    if (known !== undefined) return known;
    const node: SchemaNode = { validate: notCompiled };
    this.#nodes[reading].set(schema, node);
    this.#budget.spend(COMPILE_STEPS);
    this.#pending.push(() => {
      const resource = this.#resources.ownerOf(schema, near);
      const validate = combine(this.#keywords(schema, resource, reading));
      const isTracking = LAST_APPLICATORS.some(([name]) => schema[name] !== undefined);
      node.validate = inResource(resource, isTracking ? withOwnAnnotations(validate) : validate);
    });
    return node;
  }

  #keywords(given: JsonObject, resource: Resource, reading: SchemaReading): readonly Validate[] {
    // What an operator wrote does what it says, or is refused.
    const schema = this.#options.strictWith === undefined ? this.#readable(present(given)) : given;
    if (Object.hasOwn(schema, '$async') && typeof schema.$async === 'boolean') {
      throw new SchemaRefusedError("The schema holds '$async', which JSON Schema does not have");
    }
    const found: (Validate | undefined)[] = [];
    const isReference = isOnlyReference(schema, resource);
    this.#refuseUnknown(schema);
    const assertions = {
      budget: this.#budget,
      checksFormats: this.#options.checksFormats ?? true,
      isStrict: this.#options.strictWith !== undefined,
      isNullable: schema.nullable === true,
      schema,
      unchecked: this.#unchecked(),
    };
    if (!isReference) {
      const types = reading === 'narrow' ? impliedTypes(schema) : [];
      if (types.length > 0) found.push(ASSERTIONS.get('type')?.(types, 'type', assertions));
      for (const [keyword, assertion] of ASSERTIONS) {
        const given = schema[keyword];
        if (given !== undefined) found.push(this.#attempt(() => assertion(given, keyword, assertions)));
      }
      for (const [keyword, make] of Object.entries(this.#options.strictWith ?? {})) {
        if (schema[keyword] === undefined) continue;
        const fits = make(schema[keyword]);
        const isDoubtFit = reading === 'wide' && this.#options.reading !== undefined;
        found.push((value, run) => (fits(value) ?? isDoubtFit) || run.fail(`must fit '${keyword}'`));
      }
    }
    for (const keyword of REFERENCES) {
      const reference = schema[keyword];
      if (reference !== undefined)
        found.push(this.#attempt(() => this.#reference(keyword, reference, resource, reading)));
    }
    if (isReference) return found.filter((each) => each !== undefined);
    const context = {
      pattern: (source: string) => this.#pattern(source),
      isLatest: resource.dialect === '2020-12',
      node: (subschema: unknown) => this.#node(subschema, resource, reading),
      opposite: (subschema: unknown) => {
        const isRead = this.#options.reading !== undefined;
        return this.#node(subschema, resource, isRead ? toOpposite(reading) : reading);
      },
    };
    for (const [keywords, applicator] of APPLICATORS) {
      if (keywords.some((keyword) => schema[keyword] !== undefined))
        found.push(this.#attempt(() => applicator(schema, context)));
    }
    for (const [keyword, applicator] of LAST_APPLICATORS) {
      if (schema[keyword] !== undefined) found.push(applicator(schema, context));
    }
    return found.filter((each) => each !== undefined);
  }

  /** The keywords of a schema without lists and maps of schemas that are none: what stands beside them still holds. */
  #readable(schema: JsonObject): JsonObject {
    if (this.#options.isForeign !== true) return schema;
    const isWrong = (keyword: string) =>
      (LISTS.includes(keyword) && !(Array.isArray(schema[keyword]) && schema[keyword].length > 0)) ||
      (SUBSCHEMAS.maps.includes(keyword) && !isObject(schema[keyword]));
    const wrong = Object.keys(schema).filter(isWrong);
    if (wrong.length === 0) return schema;
    for (const keyword of wrong) this.#ignore(misused(keyword, 'schemas'));
    return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !wrong.includes(keyword)));
  }

  #attempt(compile: () => Validate | undefined): Validate | undefined {
    try {
      return compile();
    } catch (error) {
      this.#ignore(error);
      return undefined;
    }
  }

  /** Notes what is written wrong in a server's schema, and throws anything else. */
  #ignore(error: unknown): void {
    if (this.#options.isForeign !== true || !(error instanceof MisusedKeywordError)) throw error;
    this.ignored.push(error.message);
  }

  /** A pattern of many in one schema, which is compiled in a later step. */
  #pattern(source: string): SchemaPattern {
    const pattern: SchemaPattern = { matches: notCompiled };
    this.#pending.push(() => {
      const matches = compilePattern(source, this.#budget, this.#unchecked());
      pattern.matches = matches ?? (() => true);
      pattern.isUnchecked = matches === undefined;
    });
    return pattern;
  }

  #unchecked(): ((pattern: string) => void) | undefined {
    return this.#options.isForeign === true ? (pattern) => this.unchecked.push(pattern) : undefined;
  }

  /** Strict schemas must not hold a keyword that does nothing: `maxLenght` would allow everything. */
  #refuseUnknown(schema: JsonObject): void {
    const { strictWith } = this.#options;
    if (strictWith === undefined) return;
    for (const keyword of Object.keys(schema)) {
      const isKnown =
        ASSERTIONS.has(keyword) ||
        ANNOTATIONS.has(keyword) ||
        REFERENCES.has(keyword) ||
        APPLICATOR_NAMES.has(keyword) ||
        Object.hasOwn(strictWith, keyword);
      if (!isKnown) throw new SchemaRefusedError(`The keyword ${shown(keyword)} is unknown`);
    }
    const hasBranch = schema.then !== undefined || schema.else !== undefined;
    if (hasBranch !== (schema.if !== undefined)) {
      throw new SchemaRefusedError("'if' comes with 'then' or 'else', and these with 'if'");
    }
  }

  #reference(keyword: string, reference: unknown, resource: Resource, reading: SchemaReading): Validate {
    if (typeof reference !== 'string') throw misused(keyword, 'a reference');
    this.#budget.spend(COMPILE_STEPS);
    const target = this.#resources.resolve(reference, resource);
    const node = this.#node(target.schema, target.resource, reading);
    const anchor = keyword === '$recursiveRef' ? '' : target.anchor;
    const isDynamic =
      keyword !== '$ref' && anchor !== undefined && target.resource.dynamicAnchors.has(anchor);
    if (!isDynamic) return (value, run, seen) => node.validate(value, run, seen);
    return (value, run, seen) => {
      let found = node;
      for (let scope = run.scope; scope !== undefined; scope = scope.outer) {
        run.budget.spend(1);
        const schema = scope.resource.dynamicAnchors.get(anchor);
        // Compiling at this time is paid for by the check.
        if (schema !== undefined) {
          this.#budget = run.budget;
          found = this.#node(schema, scope.resource, reading);
          takeAll(this.steps());
        }
      }
      return found.validate(value, run, seen);
    };
  }
}

/** The keywords of a schema without those that are null: some generators write out what is absent. */
function present(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema);
  const isAbsent = ([keyword, given]: [string, unknown]) => given === null && keyword !== 'const';
  return entries.some(isAbsent) ? Object.fromEntries(entries.filter((entry) => !isAbsent(entry))) : schema;
}

function combine(keywords: readonly Validate[]): Validate {
  const steps = ENTER_STEPS + keywords.length;
  const [only] = keywords;
  if (only !== undefined && keywords.length === 1) {
    return (value, run, seen) => {
      run.budget.enter(steps);
      const isValid = only(value, run, seen);
      run.budget.leave();
      return isValid;
    };
  }
  return (value, run, seen) => {
    run.budget.enter(steps);
    let isValid = true;
    for (let i = 0; i < keywords.length && isValid; i += 1) {
      isValid = (keywords[i] as Validate)(value, run, seen);
    }
    run.budget.leave();
    return isValid;
  };
}

/** A schema with `unevaluated…` sees what its own subschemas evaluated, not what was evaluated beside it. */
function withOwnAnnotations(validate: Validate): Validate {
  return (value, run, seen) => {
    const own = new Evaluated();
    const isValid = validate(value, run, own);
    if (isValid) seen?.addAll(own, run.budget);
    return isValid;
  };
}

function inResource(resource: Resource, validate: Validate): Validate {
  return (value, run, seen) => {
    const outer = run.scope;
    if (outer?.resource === resource) return validate(value, run, seen);
    run.scope = { resource, outer };
    const isValid = validate(value, run, seen);
    run.scope = outer;
    return isValid;
  };
}
