import { pick } from './random.ts';

type Node = Record<string, unknown>;

const WORDS = [
  '',
  'a',
  'main',
  '2026-11-20',
  '2026-11-20T10:00:00Z',
  'https://example.com/x',
  'owner/repo',
  'café ☕',
  'x'.repeat(40),
  '00000000-0000-4000-8000-000000000000',
  '507f1f77bcf86cd799439011',
  'AS15169',
  'name-1',
  '10.0.0.1',
];

/**
 * A value that the schema most likely accepts; the caller checks it with a validator. Optional properties come and go,
 * alternatives are chosen at random, and references are followed a few levels deep.
 */
export function randomValue(schema: unknown, root: Node, random: () => number, depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null) return pick(['free', 1, true, null], random);
  const node = schema as Node;
  if (typeof node.$ref === 'string') {
    const target = ((root.$defs ?? {}) as Node)[node.$ref.slice('#/$defs/'.length)];
    return depth > 8 ? null : randomValue(target, root, random, depth + 1);
  }
  if ('const' in node) return node.const;
  if (Array.isArray(node.enum)) return pick(node.enum, random);
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    const options = node[keyword];
    if (!Array.isArray(options)) continue;
    const { [keyword]: _options, ...rest } = node;
    const chosen = keyword === 'allOf' ? options : [pick(options, random)];
    const values = [
      ...(Object.keys(rest).some((k) => k !== 'description' && k !== 'title' && k !== 'default')
        ? [rest]
        : []),
      ...chosen,
    ].map((each) => randomValue(each, root, random, depth + 1));
    return values.every(isNode) ? Object.assign({}, ...values) : values.at(-1);
  }
  const type = Array.isArray(node.type) ? pick(node.type, random) : node.type;
  switch (type ?? (node.properties ? 'object' : node.items ? 'array' : undefined)) {
    case 'object':
      return randomObject(node, root, random, depth);
    case 'array':
      return randomArray(node, root, random, depth);
    case 'string':
      return randomString(node, random);
    case 'integer':
      return Math.round(randomNumber(node, random));
    case 'number':
      return randomNumber(node, random);
    case 'boolean':
      return random() < 0.5;
    case 'null':
      return null;
    default:
      return pick(['free', 1, true, null, { k: 'v' }, ['x']], random);
  }
}

function randomObject(node: Node, root: Node, random: () => number, depth: number): Node {
  const out: Node = {};
  const required = (node.required ?? []) as string[];
  for (const [name, sub] of Object.entries((node.properties ?? {}) as Node)) {
    const wanted = required.includes(name) || (depth < 6 && random() < 0.5);
    if (wanted && sub !== false) out[name] = randomValue(sub, root, random, depth + 1);
  }
  const extra = node.additionalProperties;
  if (extra !== false && depth < 4 && random() < 0.3)
    out[pick(['extra', 'x-y.z', 'a b', '$ref'], random)] = randomValue(
      isNode(extra) ? extra : {},
      root,
      random,
      depth + 1,
    );
  return out;
}

function randomArray(node: Node, root: Node, random: () => number, depth: number): unknown[] {
  const prefix = (node.prefixItems ?? []) as unknown[];
  const min = (node.minItems as number | undefined) ?? 0;
  const max = Math.min((node.maxItems as number | undefined) ?? 3, Math.max(min, 3));
  const length = Math.max(prefix.length, min + Math.floor(random() * (max - min + 1)));
  return Array.from({ length }, (_, i) =>
    randomValue(prefix[i] ?? node.items ?? {}, root, random, depth + 1),
  );
}

function randomString(node: Node, random: () => number): string {
  const min = (node.minLength as number | undefined) ?? 0;
  const max = (node.maxLength as number | undefined) ?? 1_000;
  return pick(WORDS, random).padEnd(min, 'z').slice(0, max);
}

function randomNumber(node: Node, random: () => number): number {
  const low = (node.minimum ?? node.exclusiveMinimum ?? -5) as number;
  const high = (node.maximum ?? node.exclusiveMaximum ?? low + 50) as number;
  return low + random() * (high - low);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
