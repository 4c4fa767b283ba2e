import { Ajv2020 } from 'ajv/dist/2020.js';

/**
 * The rules by which the providers accept or refuse a request's tools, written down apart from the code that converts
 * schemas. Each function returns what is wrong; an empty list means acceptable.
 */

type Node = Record<string, unknown>;

interface OfferedTool {
  readonly name: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

const metaschema = new Ajv2020({ strict: false, logger: false });

const SINGLE = [
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'items',
  'unevaluatedItems',
  'contains',
  'not',
  'if',
  'then',
  'else',
];
const LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const MAP = ['properties', 'patternProperties', '$defs', 'dependentSchemas'];

export function openaiViolations({ name, parameters }: OfferedTool): string[] {
  const found = common(parameters);
  if (!/^[a-zA-Z0-9_-]+$/.test(name) || name.length > 64) found.push(`name ${name}`);
  for (const keyword of ['anyOf', 'oneOf', 'allOf', 'not', 'enum'])
    if (keyword in parameters) found.push(`root ${keyword}`);
  if (!isNode(parameters.properties)) found.push('root without properties');
  walk(parameters, (node, path) => {
    const isArray = node.type === 'array' || (Array.isArray(node.type) && node.type.includes('array'));
    if (isArray && !('items' in node) && !('prefixItems' in node))
      found.push(`${path}: array schema missing items`);
  });
  return found;
}

export function anthropicViolations({ name, parameters }: OfferedTool): string[] {
  const found = common(parameters);
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) found.push(`name ${name}`);
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) if (keyword in parameters) found.push(`root ${keyword}`);
  for (const key of Object.keys((parameters.properties ?? {}) as Node))
    if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key)) found.push(`property key ${JSON.stringify(key)}`);
  return found;
}

const GEMINI_KEYWORDS = new Set(
  '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering'.split(
    ' ',
  ),
);

export function geminiViolations({ name, parameters }: OfferedTool): string[] {
  const found = common(parameters);
  if (!/^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(name)) found.push(`name ${name}`);
  for (const keyword of ['anyOf', 'oneOf']) if (keyword in parameters) found.push(`root ${keyword}`);
  walk(parameters, (node, path) => {
    for (const keyword of Object.keys(node))
      if (!GEMINI_KEYWORDS.has(keyword)) found.push(`${path}: unknown keyword ${keyword}`);
    const values = node.enum;
    if (
      values !== undefined &&
      !(Array.isArray(values) && values.every((v) => ['string', 'number'].includes(typeof v)))
    )
      found.push(`${path}: enum of other values than strings and numbers`);
    if ('$ref' in node && Object.keys(node).length > 1) found.push(`${path}: keywords beside $ref`);
    const types = [node.type ?? []].flat() as string[];
    for (const [type, part] of [
      ['object', 'properties'],
      ['object', 'required'],
      ['array', 'items'],
    ] as const)
      if (types.length > 0 && part in node && !types.includes(type))
        found.push(`${path}: ${part} only allowed for ${type}`);
    if (types.includes('array') && !('items' in node) && !('prefixItems' in node))
      found.push(`${path}: items missing`);
    if (types.length > 1 && 'properties' in node) found.push(`${path}: properties beside a list of types`);
    for (const key of Object.keys((node.properties ?? {}) as Node))
      if (!/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/.test(key))
        found.push(`${path}: property key ${JSON.stringify(key)}`);
    for (const key of (node.required ?? []) as string[])
      if (!Object.hasOwn((node.properties ?? {}) as Node, key))
        found.push(`${path}: required ${key} is no property`);
  });
  return [...found, ...cyclesInRequired(parameters)];
}

/** A reference that leads back to its own definition must stand under a property that is not required. */
function cyclesInRequired(root: Node): string[] {
  const definitions = (root.$defs ?? {}) as Record<string, Node>;
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean => {
    if (from === to) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    let found = false;
    walk(definitions[from] ?? {}, (node) => {
      if (typeof node.$ref === 'string') found ||= reaches(nameOf(node.$ref), to, seen);
    });
    return found;
  };
  const violations: string[] = [];
  for (const [name, definition] of Object.entries(definitions)) {
    const visit = (node: unknown, optional: boolean, path: string): void => {
      if (!isNode(node)) return;
      if (typeof node.$ref === 'string' && !optional && reaches(nameOf(node.$ref), name))
        violations.push(`${path}: a cycle through required properties only`);
      const required = (node.required ?? []) as string[];
      for (const [key, sub] of Object.entries((node.properties ?? {}) as Node))
        visit(sub, !required.includes(key), `${path}/${key}`);
      for (const keyword of SINGLE)
        visit(node[keyword], optional && keyword !== 'additionalProperties', path);
      for (const keyword of LIST)
        for (const sub of (node[keyword] ?? []) as unknown[]) visit(sub, optional, path);
    };
    visit(definition, false, name);
  }
  return violations;
}

function common(parameters: Node): string[] {
  const found: string[] = [];
  if (parameters.type !== 'object') found.push('root type is not "object"');
  if (!metaschema.validateSchema(parameters))
    found.push(`not JSON Schema 2020-12: ${metaschema.errorsText()}`);
  walk(parameters, (node, path) => {
    if ('$schema' in node) found.push(`${path}: $schema`);
    const reference = node.$ref;
    if (typeof reference !== 'string') return;
    const definitions = (parameters.$defs ?? {}) as Node;
    if (!reference.startsWith('#/$defs/') || !Object.hasOwn(definitions, nameOf(reference)))
      found.push(`${path}: ${reference} leads nowhere`);
  });
  return found;
}

function walk(schema: unknown, visit: (node: Node, path: string) => void, path = '#'): void {
  if (!isNode(schema)) return;
  visit(schema, path);
  for (const keyword of SINGLE) walk(schema[keyword], visit, `${path}/${keyword}`);
  for (const keyword of LIST)
    for (const [i, sub] of ((schema[keyword] ?? []) as unknown[]).entries())
      walk(sub, visit, `${path}/${keyword}/${i}`);
  for (const keyword of MAP)
    for (const [name, sub] of Object.entries((schema[keyword] ?? {}) as Node))
      walk(sub, visit, `${path}/${keyword}/${name}`);
}

function nameOf(reference: string): string {
  return reference.slice('#/$defs/'.length);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
