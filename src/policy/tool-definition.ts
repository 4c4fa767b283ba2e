/** What a server says about a tool, and the hash that pins it. */

import {
  canonicalJson,
  checkJsonValue,
  isObject,
  type JsonLimits,
  type JsonObject,
  pointed,
  readObject,
  StrictJsonError,
  sha256Hex,
} from '../json/index.ts';
import { isMissingSchema, type ToolDefinition } from '../mcp-client/index.ts';

/** Tools by configured server id: the form of `--tools FILE`. */
export type ToolsByServer = Readonly<Record<string, { readonly tools: readonly ToolDefinition[] }>>;

/** One definition may be 1 MiB, 64 levels deep. */
const DEFINITION_LIMITS: JsonLimits = {
  maxBytes: 1_048_576,
  maxDepth: 64,
  maxValues: 100_000,
  // Generators write the bounds of 64-bit integers, which a reader before this one may have rounded.
  largeIntegers: 'text',
};

/** A missing `inputSchema` means that the tool takes no arguments, and an `outputSchema` may be null for absent. */
export function withSchemas(tool: ToolDefinition): ToolDefinition {
  if (!isObject(tool)) return tool;
  const { inputSchema, outputSchema, ...rest } = tool;
  const isAbsent = outputSchema !== undefined && isMissingSchema(outputSchema);
  if (!isAbsent && !isMissingSchema(inputSchema)) return tool;
  return {
    ...rest,
    inputSchema: isMissingSchema(inputSchema) ? { type: 'object' } : inputSchema,
    ...(isMissingSchema(outputSchema) ? {} : { outputSchema }),
  };
}

/**
 * Why no call of a tool can be checked by its definition, or undefined. Arguments are an object, so another
 * `inputSchema.type` is refused. MCP wants an object as the schema of each property, so `{"properties": {"a": true}}` is
 * refused although JSON Schema allows it; other values there are typing errors, which assert nothing. An `outputSchema` is any JSON Schema, `true` and `false` included.
 */
export function definitionProblem(tool: unknown): string | undefined {
  if (!isObject(tool)) return 'A tool definition is an object';
  const { name, inputSchema, outputSchema } = tool;
  if (typeof name !== 'string' || name === '' || name.length > 256)
    return 'A tool name has 1 to 256 characters';
  try {
    checkJsonValue(tool, DEFINITION_LIMITS);
  } catch (error) {
    if (error instanceof StrictJsonError) return error.message;
    throw error;
  }
  if (!isMissingSchema(outputSchema) && !isSchema(outputSchema)) return `'outputSchema' is a JSON Schema`;
  return isMissingSchema(inputSchema) ? undefined : inputProblem(inputSchema);
}

function isSchema(value: unknown): value is JsonObject | boolean {
  return isObject(value) || typeof value === 'boolean';
}

function inputProblem(schema: unknown): string | undefined {
  if (!isObject(schema)) return `'inputSchema' is a JSON Schema object`;
  const { type, properties } = schema;
  const allowsObject = type === undefined || [type].flat().includes('object');
  if (!allowsObject) return `'inputSchema.type' is "object"`;
  const wrong = Object.entries(readObject(properties)).find(([, property]) => typeof property === 'boolean');
  return wrong && `'inputSchema.properties.${wrong[0].slice(0, 64)}' is a schema object`;
}

/**
 * SHA-256 over the canonical JSON (RFC 8785) of what a model or a user sees of a tool: name, title, description,
 * inputSchema, outputSchema, annotations, and those keys of `_meta` that are named in `metaKeys`.
 */
export function toolHash(tool: ToolDefinition, metaKeys: readonly string[] = []): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = withSchemas(tool);
  const meta = pick(tool._meta, metaKeys);
  return sha256Hex(
    canonicalJson({ name, title, description, inputSchema, outputSchema, annotations, _meta: meta }),
  );
}

function pick(meta: unknown, keys: readonly string[]): Record<string, unknown> | undefined {
  if (!isObject(meta)) return undefined;
  const kept = keys.filter((key) => Object.hasOwn(meta, key)).map((key) => [key, meta[key]] as const);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** How a tool's input schema treats argument names. */
export interface DeclaredArguments {
  readonly names: ReadonlySet<string>;
  /** Sources of `patternProperties`. */
  readonly patterns: readonly string[];
  /** True when the schema says whether further arguments are allowed (`additionalProperties`, `unevaluatedProperties`). */
  readonly isExplicit: boolean;
}

/**
 * Collects the argument names an input schema declares or requires, through `allOf`, `anyOf`, `oneOf`, `if`/`then`/`else`,
 * `dependentSchemas` and local `$ref`s.
 */
export function declaredArguments(schema: unknown): DeclaredArguments {
  const names = new Set<string>();
  const patterns: string[] = [];
  const seen = new Set<unknown>();
  let isExplicit = false;
  const visit = (node: unknown): void => {
    if (!isObject(node) || seen.has(node)) return;
    seen.add(node);
    for (const key of Object.keys(readObject(node.properties))) names.add(key);
    if (Array.isArray(node.required))
      for (const key of node.required) if (typeof key === 'string') names.add(key);
    patterns.push(...Object.keys(readObject(node.patternProperties)));
    if (node.additionalProperties !== undefined || node.unevaluatedProperties !== undefined)
      isExplicit = true;
    for (const key of ['allOf', 'anyOf', 'oneOf']) {
      const branches = node[key];
      if (Array.isArray(branches)) branches.forEach(visit);
    }
    for (const key of ['if', 'then', 'else']) visit(node[key]);
    Object.values(readObject(node.dependentSchemas)).forEach(visit);
    if (typeof node.$ref === 'string') visit(pointed(schema, node.$ref));
  };
  visit(schema);
  return { names, patterns, isExplicit };
}

const propertyNames = new WeakMap<object, ReadonlySet<string>>();

/** The names of all properties that a schema declares, at any depth. */
export function propertyNamesIn(schema: unknown): ReadonlySet<string> {
  const key = readObject(schema);
  let names = propertyNames.get(key);
  if (names === undefined) {
    const found = new Set<string>();
    const visit = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return;
      if (isObject(node)) for (const name of Object.keys(readObject(node.properties))) found.add(name);
      for (const member of Object.values(node)) visit(member);
    };
    visit(key);
    names = found;
    propertyNames.set(key, names);
  }
  return names;
}
