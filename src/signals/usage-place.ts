/** What names of counts stand for. */

import { splitNames, USAGE_DIALECTS, USAGE_UNITS, type UsageDialect, type UsageUnit } from '../base/index.ts';
import { isObject, type JsonObject, toCount, toText } from '../json/index.ts';

/** A count, as a number or as text; -1 and the like stand for none. */
export function readCount(value: unknown): number | undefined {
  if (typeof value !== 'string') return toCount(value);
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

/** Members of one object that are looked at beside those of the tables. */
export const MAX_MEMBERS = 64;

/** What a name stands for. */
export interface UsagePlace {
  readonly unit: UsageUnit;
  /** 0 takes precedence over the other names of the unit. */
  readonly rank: number;
  /** The dialects that have the name. */
  readonly dialects: readonly UsageDialect[];
}

/** .NET writes `InputTokenCount`. */
export function withCamelCase(value: JsonObject): JsonObject {
  const names = Object.keys(value);
  if (names.length > MAX_MEMBERS || !names.some((name) => /^[A-Z][a-z]/.test(name))) return value;
  return Object.fromEntries(names.map((name) => [name.charAt(0).toLowerCase() + name.slice(1), value[name]]));
}

/**
 * `{AUDIO: 10}` of `[{modality: 'AUDIO', tokenCount: 10}]`, `{'1H': 10}` of Bedrock's `[{ttl: '1h', inputTokens: 10}]`,
 * `{GOOGLE_SEARCH: 2}` of the `[{type: 'google_search', count: 2}]` of Gemini's interactions.
 */
export function countsByWord(list: readonly unknown[]): JsonObject {
  const counts: Record<string, number> = {};
  for (const one of list.slice(0, 16)) {
    if (!isObject(one)) continue;
    const word = toText(one.modality ?? one.ttl ?? one.type)?.toUpperCase();
    const count = readCount(one.tokenCount ?? one.token_count ?? one.tokens ?? one.inputTokens ?? one.count);
    if (word !== undefined && count !== undefined) counts[word] = (counts[word] ?? 0) + count;
  }
  return counts;
}

/** The names of spans, with our own first. */
export const SPAN_PLACES: ReadonlyMap<string, UsagePlace> = toPlaces('span', {
  inputTokens: 'observatory.prompt_tokens',
  outputTokens: 'observatory.completion_tokens',
  cacheReadTokens: 'observatory.cached_prompt_tokens',
  cacheWriteTokens: 'observatory.cache_write_tokens',
  reasoningTokens: 'observatory.reasoning_tokens',
});

function toPlaces(
  on: UsageDialect['on'],
  own: UsageDialect['names'] = {},
  attribute?: string,
): ReadonlyMap<string, UsagePlace> {
  const places = new Map<string, UsagePlace>();
  const first: UsageDialect = { source: 'own', on, names: own };
  const dialects = USAGE_DIALECTS.filter(
    (one) => one.on === on && (one.in === undefined || one.in === attribute),
  );
  for (const dialect of [first, ...dialects]) {
    for (const [unit, names] of Object.entries(dialect.names) as [UsageUnit, string][]) {
      for (const name of splitNames(names)) {
        const known = places.get(name);
        // What it means in this attribute.
        if (known !== undefined && (known.unit !== unit || known.dialects[0]?.in !== undefined)) continue;
        places.set(name, {
          unit,
          rank: known?.rank ?? places.size,
          dialects: [...(known?.dialects ?? []), dialect],
        });
      }
    }
  }
  return places;
}

/** Members of a usage object by name: what they stand for, and what is nested in them. */
export interface UsageNode {
  place?: UsagePlace;
  readonly members: Map<string, UsageNode>;
}

function buildTree(attribute?: string): UsageNode {
  const root: UsageNode = { members: new Map() };
  for (const [name, place] of toPlaces('json', {}, attribute)) {
    let node = root;
    for (const member of name.split('.')) {
      const next = node.members.get(member) ?? { members: new Map() };
      node.members.set(member, next);
      node = next;
    }
    node.place = place;
  }
  return root;
}

/** The trees that were asked for, by attribute; `` is that of any usage object. Built when asked, as few are. */
const trees = new Map<string, UsageNode>();
const OWN_NAMES = new Set(USAGE_DIALECTS.map((dialect) => dialect.in));

/** The names in the object of an attribute, else those of any usage object. */
export function toRoot(attribute: string | undefined): UsageNode {
  const known = OWN_NAMES.has(attribute) ? attribute : undefined;
  const key = known ?? '';
  const tree = trees.get(key) ?? buildTree(known);
  trees.set(key, tree);
  return tree;
}

const BY_WORDS = Object.fromEntries(
  USAGE_UNITS.map((unit) => [unit, { unit, rank: Number.MAX_SAFE_INTEGER, dialects: [] }]),
) as unknown as { readonly [U in UsageUnit]: UsagePlace };

/**
 * What a count stands for by the words of its name: `cached_tokens`, `cacheReadTokens`, `cache.write.tokens`,
 * `input_audio_tokens`, `web_search_requests`. A name that also says that it is an amount, a share, a limit or a time
 * stands for nothing; nor does one that says no tokens and has any other word, such as `cached_at`.
 */
export function placeByWords(name: string): UsagePlace | undefined {
  if (!/cach|ephemeral|reason|think|thought|audio|image|video|web/i.test(name)) return undefined;
  const words = toWords(name);
  const has = (...any: readonly string[]) => words.some((word) => any.includes(word));
  const own = words.slice(words.lastIndexOf('usage') + 1);
  if (has('web') && own.every((word) => SEARCH_WORDS.has(word))) return BY_WORDS.webSearches;
  if (words.some((word) => OTHER_WORDS.has(word))) return undefined;
  const medium = MEDIA.find(([word]) => has(word));
  if (medium !== undefined) return has('token', 'tokens') ? placeOfMedium(medium, has) : undefined;
  if (!has('token', 'tokens') && !own.every((word) => PLAIN_WORDS.has(word))) return undefined;
  // Anthropic's word for what is written to its cache.
  if (has('ephemeral') && has('1h')) return BY_WORDS.cacheWrite1hTokens;
  if (has('ephemeral') && has('5m')) return BY_WORDS.cacheWrite5mTokens;
  if (!words.some((word) => word.startsWith('cach'))) {
    return !has('5m', '1h', 'ephemeral') && has('reasoning', 'thinking', 'thought', 'thoughts')
      ? BY_WORDS.reasoningTokens
      : undefined;
  }
  // What is cached is input.
  if (has('output', 'completion')) return undefined;
  if (has(...WRITING)) {
    if (has('1h', '1hr')) return BY_WORDS.cacheWrite1hTokens;
    if (has('5m', '5min')) return BY_WORDS.cacheWrite5mTokens;
    return has('ephemeral') ? undefined : BY_WORDS.cacheWriteTokens;
  }
  return !has('5m', '1h', 'ephemeral') && has('read', 'reads', 'hit', 'hits', 'cached')
    ? BY_WORDS.cacheReadTokens
    : undefined;
}

const WRITING = ['write', 'writes', 'written', 'creation', 'create', 'created'] as const;

type Medium = readonly [word: string, input: UsageUnit, output: UsageUnit, cached?: UsageUnit];

const MEDIA: readonly Medium[] = [
  ['audio', 'inputAudioTokens', 'outputAudioTokens', 'cacheReadAudioTokens'],
  ['image', 'inputImageTokens', 'outputImageTokens', 'cacheReadImageTokens'],
  ['video', 'inputVideoTokens', 'outputVideoTokens'],
];

function placeOfMedium(
  [, input, output, cached]: Medium,
  has: (...any: readonly string[]) => boolean,
): UsagePlace | undefined {
  const isOutput = has('output', 'completion', 'candidates');
  if (has('cache', 'cached')) {
    return isOutput || cached === undefined || has(...WRITING) ? undefined : BY_WORDS[cached];
  }
  if (isOutput === has('input', 'prompt')) return undefined;
  return BY_WORDS[isOutput ? output : input];
}

const MAX_NAME = 128;

/** The words of a name, in lower case. */
export function toWords(name: string): readonly string[] {
  return name
    .slice(0, MAX_NAME)
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/([a-zA-Z])(\d)/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z\d]+/);
}

/** Of names that count searches of the web. */
const SEARCH_WORDS: ReadonlySet<string> = new Set(
  'web search searches request requests call calls count num number server tool use details'.split(' '),
);

const OTHER_WORDS: ReadonlySet<string> = new Set(
  (
    'text miss misses cost costs price usd discount savings saved rate ratio share fraction percent ' +
    'percentage pct per avg average mean median multiplier factor time ms seconds duration latency at since until expires ' +
    'ttl key level effort budget max maximum min minimum limit limits cap quota threshold remaining available enabled ' +
    'supported non not no without excluding except uncached content summary id count_type requests messages blocks calls ' +
    'chars characters bytes steps'
  ).split(' '),
);

/** Of names that count tokens without saying so. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(
  (
    'cache cached read write creation reasoning thinking thoughts input prompt output completion in out detail details ' +
    'total 5m 1h 5min 1hr ephemeral'
  ).split(' '),
);
