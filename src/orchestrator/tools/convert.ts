import { compileSchema, METASCHEMA } from '../../json/index.ts';
import { toGeminiSchema } from './gemini-schema.ts';
import {
  type AnySchema,
  mapSubschemas,
  type RelaxedConstraint,
  type Schema,
  Unconvertible,
} from './json-schema.ts';
import type { ArgumentMapping } from './map-arguments.ts';
import { normalizeSchema } from './normalize.ts';
import { ANTHROPIC_KEYS, GEMINI_KEYS, type KeyRule, renameProperties } from './property-keys.ts';
import { collectReferences, neededDefinitions, type ReferencedSchema } from './references.ts';
import { type ObjectRoot, toObjectRoot, wrap } from './root.ts';

export type ToolProvider = 'openai' | 'anthropic' | 'gemini';

export interface ConvertedSchema {
  readonly parameters: Schema;
  readonly mapping: ArgumentMapping;
  /** Constraints the model may break because the provider's schema language cannot say them. */
  readonly relaxed: readonly RelaxedConstraint[];
}

/** In-place conditions about the arguments; a renamed argument would have to be renamed inside them too. */
const CONDITIONS = [
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
];

/** Most characters of a converted schema as JSON; a tool with more is unsupported. */
const MAX_CHARS = 200_000;

/**
 * Converts the input schema of one tool for one provider.
 *
 * @throws Unconvertible with the reason when no acceptable schema can say it.
 */
export function convertSchema(inputSchema: Schema, provider: ToolProvider): ConvertedSchema {
  const object = toObjectRoot(collectReferences(normalizeSchema(inputSchema)));
  const { schema, wrapped, relaxed, rule } = forProvider(object, provider);
  const renamed =
    rule === undefined ? { schema, renames: new Map<string, string>() } : renameProperties(schema, rule);
  const parameters = assemble(renamed.schema);
  assertJsonSchema(parameters);
  const chars = JSON.stringify(parameters).length;
  if (chars > MAX_CHARS)
    throw new Unconvertible(`its schema has ${chars} characters, more than the ${MAX_CHARS} allowed`);
  return { parameters, relaxed, mapping: { wrapped, renames: renamed.renames, shown: renamed.schema } };
}

interface ProviderSchema {
  readonly schema: ReferencedSchema;
  readonly wrapped: boolean;
  readonly relaxed: readonly RelaxedConstraint[];
  readonly rule?: KeyRule;
}

function forProvider(object: ObjectRoot, provider: ToolProvider): ProviderSchema {
  switch (provider) {
    case 'openai':
      return { ...forOpenAi(object), wrapped: object.wrapped };
    case 'anthropic':
      return { ...forAnthropic(object), relaxed: [], rule: ANTHROPIC_KEYS };
    case 'gemini': {
      const { relaxed, ...schema } = toGeminiSchema(object);
      return { schema, wrapped: object.wrapped, relaxed, rule: GEMINI_KEYS };
    }
  }
}

/** What OpenAI's engine refuses in a pattern ("regex lookaround is not supported"), and back references. */
const NO_PATTERN_OF_OPENAI = /\(\?<?[=!]|\\[1-9]|\\k</;

/**
 * OpenAI answers two things with an error for the whole request: an array without `items` ("array schema missing items"),
 * and a pattern that its engine does not run, which is said in words instead.
 */
function forOpenAi({ root, definitions }: ReferencedSchema): Pick<ProviderSchema, 'schema' | 'relaxed'> {
  const relaxed: RelaxedConstraint[] = [];
  const fit = (schema: AnySchema, path: string): AnySchema => {
    if (typeof schema === 'boolean') return schema;
    const out = mapSubschemas(schema, (sub) => fit(sub, path));
    const isArray = out.type === 'array' || (Array.isArray(out.type) && out.type.includes('array'));
    if (isArray && out.items === undefined && out.prefixItems === undefined) out.items = {};
    if (typeof out.pattern === 'string' && NO_PATTERN_OF_OPENAI.test(out.pattern)) {
      const words = `(matches the pattern ${out.pattern.slice(0, 200)})`;
      out.description = typeof out.description === 'string' ? `${out.description} ${words}` : words;
      delete out.pattern;
      relaxed.push({ path, keyword: 'pattern' });
    }
    return out;
  };
  const fitted = [...definitions].map(([name, each]) => [name, fit(each, `/$defs/${name}`)] as const);
  return { schema: { root: fit(root, '') as Schema, definitions: new Map(fitted) }, relaxed };
}

/** Names inside an argument are free, so arguments that cannot be renamed one by one go into one. */
function forAnthropic({ root, definitions, wrapped }: ObjectRoot): {
  schema: ReferencedSchema;
  wrapped: boolean;
} {
  const refused = Object.keys((root.properties ?? {}) as Schema).some(
    (name) => !ANTHROPIC_KEYS.allowed.test(name),
  );
  if (!refused || wrapped || !CONDITIONS.some((keyword) => root[keyword] !== undefined))
    return { schema: { root, definitions }, wrapped };
  return { schema: { root: wrap(root), definitions }, wrapped: true };
}

function assemble({ root, definitions }: ReferencedSchema): Schema {
  const needed = neededDefinitions(root, definitions);
  return needed.size === 0 ? root : { ...root, $defs: Object.fromEntries(needed) };
}

/**
 * The last look before a schema is offered: providers check the whole request against JSON Schema 2020-12.
 *
 * @throws Unconvertible with the first place that breaks it.
 */
function assertJsonSchema(schema: Schema): void {
  const verdict = compileSchema(METASCHEMA).check(schema);
  if (!verdict.valid) throw new Unconvertible(`its schema is not valid JSON Schema: ${verdict.message}`);
}
