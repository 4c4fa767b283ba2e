/** Reads token counts, in the names of any dialect, into the sense of the semantic conventions. */
import type { UsageUnit } from '../base/index.ts';
import { addUp, isObject, type JsonObject, readList, toCount, toText } from '../json/index.ts';
import type { RequestUsage, TokenUsage } from './cost.ts';
import { listModes, readModes } from './modes.ts';
import { placeByWords, toRoot, type UsageNode, type UsagePlace } from './usage-place.ts';

/** A count, as a number or as text; -1 and the like stand for none. */
export function readCount(value: unknown): number | undefined {
  if (typeof value !== 'string') return toCount(value);
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

/** Members of one object that are looked at beside those of the tables. */
const MAX_MEMBERS = 64;

type Counts = { [U in UsageUnit]?: number };

/** Counts gathered from names of any dialect, in any order. */
export class UsageReader {
  readonly #counts: Counts = {};
  readonly #places: { [U in UsageUnit]?: UsagePlace } = {};
  readonly #modes: string[] = [];

  take(place: UsagePlace, value: unknown): void {
    const { unit, rank } = place;
    const known = this.#places[unit];
    if (known !== undefined && known.rank <= rank) return;
    const count = readCount(value);
    if (count === undefined) return;
    this.#counts[unit] = count;
    this.#places[unit] = place;
  }

  /**
   * Takes the counts of a usage object. Getters that throw are the caller's to catch.
   * @param attribute that holds it, which may have names of its own.
   */
  takeObject(usage: JsonObject, attribute?: string): void {
    this.#walk(usage, toRoot(attribute));
    this.#modes.push(...listModes(readModes(usage)));
  }

  #walk(value: JsonObject, node: UsageNode): void {
    this.#takeOthers(value, node);
    for (const [name, next] of node.members) {
      const member = value[name];
      if (member === undefined || member === null) continue;
      if (next.place !== undefined) this.take(next.place, member);
      if (next.members.size === 0) continue;
      if (Array.isArray(member)) this.#walk(countsByWord(member), next);
      else if (isObject(member)) this.#walk(member, next);
    }
  }

  /** Whether anything was read from a cache. */
  get tellsCache(): boolean {
    return (this.#counts.cacheReadTokens ?? 0) > 0;
  }

  /** What no table names, by the words of its name. */
  #takeOthers(value: JsonObject, node: UsageNode | undefined, path = ''): void {
    for (const name of Object.keys(value).slice(0, MAX_MEMBERS)) {
      if (node?.members.has(name) === true) continue;
      const member = value[name];
      if (isObject(member)) {
        if (path === '') this.#takeOthers(member, undefined, `${name}.`);
        continue;
      }
      const known = placeByWords(`${path}${name}`);
      if (known !== undefined) this.take(known, member);
    }
  }

  /**
   * The usage; `undefined` without a count of input or output. The total decides whether cached tokens are part of the
   * input, and reasoning part of the output, where the dialect does not; a usage that it fits in no way `disagrees`.
   */
  settle({ model, passesCountsOn = false, isExclusive = false }: UsageContext = {}): TokenUsage | undefined {
    const counts = this.#counts;
    const { inputTokens, outputTokens, totalTokens, cacheWrite1hTokens, reasoningTokens } = counts;
    if (inputTokens === undefined && outputTokens === undefined) return undefined;
    const cacheWriteTokens = counts.cacheWriteTokens ?? addUp(counts.cacheWrite5mTokens, cacheWrite1hTokens);
    const parts: WholeAndParts = {
      input: addUp(inputTokens, counts.toolPromptTokens) ?? 0,
      cached: (counts.cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0),
      output: outputTokens ?? 0,
      reasoning: reasoningTokens ?? 0,
    };
    const apart: Reading = {
      cache:
        passesCountsOn ||
        (isExclusive && this.#isPassedOn()) ||
        this.#isApart('inputTokens', CACHE_UNITS, 'cacheApart'),
      reasoning: this.#isApart('outputTokens', ['reasoningTokens'], 'reasoningApart'),
    };
    const rest = toRest(parts, totalTokens, model);
    const reading = chooseReading(parts, apart, totalTokens) ?? (rest > 0 ? apart : undefined);
    const { cache, reasoning } = reading ?? NOTHING_APART;
    return {
      inputTokens: inputTokens === undefined ? undefined : parts.input + (cache ? parts.cached : 0),
      outputTokens:
        outputTokens === undefined && !reasoning
          ? undefined
          : parts.output + (reasoning ? parts.reasoning : 0) + rest,
      cacheReadTokens: counts.cacheReadTokens,
      cacheWriteTokens,
      cacheWrite1hTokens,
      reasoningTokens: reasoningTokens ?? (rest > 0 ? rest : undefined),
      ...this.#others(),
      ...(this.#modes.length === 0 ? {} : { modes: this.#modes }),
      ...(reading === undefined ? { disagrees: true } : {}),
    };
  }

  /** Whether a dialect that has the names of both counts the parts beside the whole. */
  #isApart(whole: UsageUnit, parts: readonly UsageUnit[], trait: 'cacheApart' | 'reasoningApart'): boolean {
    const dialects = this.#places[whole]?.dialects ?? [];
    const hasTotal = this.#counts.totalTokens !== undefined;
    return parts.some((part) =>
      this.#places[part]?.dialects.some(
        (dialect) =>
          dialects.includes(dialect) &&
          (dialect[trait] === true || (dialect[trait] === 'by total' && !hasTotal)),
      ),
    );
  }

  #isPassedOn(): boolean {
    return this.#places.inputTokens?.dialects.some(({ isPassedOn }) => isPassedOn === true) === true;
  }

  #others(): TokenUsage {
    const found: { [U in OtherUnit]?: number } = {};
    for (const unit of OTHER_UNITS) {
      const count = this.#counts[unit];
      if (count !== undefined && count > 0) found[unit] = count;
    }
    return found;
  }
}

export interface UsageContext {
  readonly model?: string | undefined;
  /** Whether the instrumentation is known to set an input that leaves cached tokens out. */
  readonly passesCountsOn?: boolean | undefined;
  /** Whether the provider's own input leaves cached tokens out. */
  readonly isExclusive?: boolean | undefined;
  /** The attribute that holds the object. */
  readonly attribute?: string | undefined;
}

const CACHE_UNITS = [
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
] as const;

/** Units that are stored only where there is something of them. */
export const OTHER_UNITS = [
  'inputAudioTokens',
  'inputImageTokens',
  'inputVideoTokens',
  'cacheReadAudioTokens',
  'cacheReadImageTokens',
  'outputAudioTokens',
  'outputImageTokens',
  'outputVideoTokens',
  'citationTokens',
  'webSearches',
  'fileSearches',
] as const satisfies readonly UsageUnit[];

type OtherUnit = (typeof OTHER_UNITS)[number];

interface WholeAndParts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Which parts are beside their whole. */
interface Reading {
  readonly cache: boolean;
  readonly reasoning: boolean;
}

const NOTHING_APART: Reading = { cache: false, reasoning: false };

const READINGS: readonly Reading[] = [
  NOTHING_APART,
  { cache: true, reasoning: false },
  { cache: false, reasoning: true },
  { cache: true, reasoning: true },
];

/** The reading that the total and the sizes allow; undefined when none does, or two that differ. */
function chooseReading(parts: WholeAndParts, apart: Reading, total: number | undefined): Reading | undefined {
  const { input, cached, output, reasoning } = parts;
  const sumOfReading = (reading: Reading): number =>
    input + output + (reading.cache ? cached : 0) + (reading.reasoning ? reasoning : 0);
  const possible = READINGS.filter(
    (reading) =>
      isPossible(reading.cache, apart.cache, cached, input) &&
      isPossible(reading.reasoning, apart.reasoning, reasoning, output),
  );
  if (total === undefined) return possible[0];
  const fitting = possible.filter((reading) => sumOfReading(reading) === total);
  if (fitting.length > 0) return fitting.length === 1 ? fitting[0] : undefined;
  // Some totals leave out what their own dialect counts apart.
  const isExplained = READINGS.some((reading) => sumOfReading(reading) === total);
  return isExplained ? possible[0] : undefined;
}

/** A part that is not there is not apart, so that no two readings are the same; one that exceeds its whole is. */
function isPossible(isApart: boolean, mustBe: boolean, part: number, whole: number): boolean {
  if (part === 0) return !isApart;
  return isApart || (!mustBe && part <= whole);
}

/** Gemini's own thoughts, of which its answers in OpenAI's form tell nothing but the total. */
function toRest(parts: WholeAndParts, total: number | undefined, model: string | undefined): number {
  if (total === undefined || parts.reasoning > 0 || model === undefined || !/gemini/i.test(model)) return 0;
  return Math.max(0, total - parts.input - parts.output);
}

/**
 * `{AUDIO: 10}` of `[{modality: 'AUDIO', tokenCount: 10}]`, `{'1H': 10}` of Bedrock's `[{ttl: '1h', inputTokens: 10}]`,
 * `{GOOGLE_SEARCH: 2}` of the `[{type: 'google_search', count: 2}]` of Gemini's interactions.
 */
function countsByWord(list: readonly unknown[]): JsonObject {
  const counts: Record<string, number> = {};
  for (const one of list.slice(0, 16)) {
    if (!isObject(one)) continue;
    const word = toText(one.modality ?? one.ttl ?? one.type)?.toUpperCase();
    const count = readCount(one.tokenCount ?? one.token_count ?? one.tokens ?? one.inputTokens ?? one.count);
    if (word !== undefined && count !== undefined) counts[word] = (counts[word] ?? 0) + count;
  }
  return counts;
}

/** More iterations of one message than Anthropic makes. */
const MAX_REQUESTS = 64;

/** Reads a usage object of any dialect, such as that of a provider's answer. Getters that throw are the caller's to catch. */
export function readUsageObject(value: unknown, context: UsageContext = {}): TokenUsage | undefined {
  const usage = readOne(value, context);
  const iterations = readList(isObject(value) ? value.iterations : undefined);
  return usage === undefined || iterations.length < 2 ? usage : sumOfIterations(usage, iterations);
}

function readOne(value: unknown, context: UsageContext = {}): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
  const reader = new UsageReader();
  reader.takeObject(value, context.attribute);
  return reader.settle(context);
}

/**
 * Anthropic's own counts of a message leave out the compaction before it, and what an advisor model was asked: the
 * iterations have all. Those of the message itself add up to its counts.
 */
function sumOfIterations(whole: TokenUsage, iterations: readonly unknown[]): TokenUsage {
  const read = iterations.slice(0, MAX_REQUESTS).map((iteration) => {
    const { type, model } = isObject(iteration) ? iteration : {};
    return { type, request: { ...readOne(iteration), model: toText(model) } satisfies RequestUsage };
  });
  const requests = read.map(({ request }) => request);
  const ofMessage = read.filter(({ type }) => type === 'message').map(({ request }) => request);
  const agrees =
    iterations.length <= MAX_REQUESTS &&
    readTotal(ofMessage, 'inputTokens') === whole.inputTokens &&
    readTotal(ofMessage, 'outputTokens') === whole.outputTokens;
  const sums = Object.fromEntries(REQUEST_UNITS.map((unit) => [unit, readTotal(requests, unit)]));
  return { ...whole, ...sums, requests, ...(agrees ? {} : { disagrees: true }) };
}

/** Units that are told of each request. */
export const REQUEST_UNITS = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'reasoningTokens',
] as const;

function readTotal(
  requests: readonly RequestUsage[],
  unit: (typeof REQUEST_UNITS)[number],
): number | undefined {
  return addUp(...requests.map((request) => request[unit]));
}
