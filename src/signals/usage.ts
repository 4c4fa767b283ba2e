/** Reads token counts, in the names of any dialect, into the sense of the semantic conventions. */
import { FEE_UNITS, type UsageDialect, type UsageUnit } from '../base/index.ts';
import { addUp, isObject, type JsonObject, readList, toText } from '../json/index.ts';
import type { RequestUsage, TokenUsage } from './cost.ts';
import { listModes, readModes } from './modes.ts';
import {
  countsByWord,
  MAX_MEMBERS,
  placeByWords,
  readCount,
  toRoot,
  type UsageNode,
  type UsagePlace,
  withCamelCase,
} from './usage-place.ts';
import { type Apart, chooseReading, NOTHING_BESIDE, toRest, type WholeAndParts } from './usage-reading.ts';

type Counts = { [U in UsageUnit]?: number };
type Trait = 'cacheApart' | 'reasoningApart' | 'isUnsure';

/** Counts gathered from names of any dialect, in any order. */
export class UsageReader {
  readonly #counts: Counts = {};
  readonly #places: { [U in UsageUnit]?: UsagePlace } = {};
  readonly #modes: string[] = [];

  take(place: UsagePlace, value: unknown): void {
    const { unit, rank } = place;
    const known = this.#places[unit];
    const has = this.#counts[unit];
    const isFirst = known === undefined || rank < known.rank;
    // A zero may stand for what the writer of one name did not know.
    if (!isFirst && has !== 0) return;
    const count = readCount(value);
    if (count === undefined || (count === 0 && has !== undefined && !(isFirst && has === 0))) return;
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

  /** Takes how a call was served. @param name with the member of a usage object at its end. */
  takeMode(name: string, value: unknown): void {
    this.#modes.push(...listModes(readModes({ [name.slice(name.lastIndexOf('.') + 1)]: value })));
  }

  #walk(whole: JsonObject, node: UsageNode): void {
    const value = withCamelCase(whole);
    this.#takeOthers(value, node);
    const own = Object.keys(value);
    // The members of most are few, and the names many; those of a class need not be its own.
    const isPlain = own.length <= MAX_MEMBERS && Object.getPrototypeOf(value) === Object.prototype;
    for (const name of isPlain ? own : node.members.keys()) {
      const [member, next] = [value[name], node.members.get(name)];
      if (next === undefined || member === undefined || member === null) continue;
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

  /** The output as it was told. */
  get output(): number {
    return this.#counts.outputTokens ?? 0;
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
  settle(context: UsageContext = {}): TokenUsage | undefined {
    const { model, passesCountsOn = false, isExclusive = false, isOwnTotal = false } = context;
    const counts = this.#counts;
    if (this.#places.inputTokens?.dialects[0]?.isAlone) for (const unit of PARTS) delete counts[unit];
    // Nobody counted it.
    if (counts.totalTokens === 0) delete counts.totalTokens;
    const { inputTokens, outputTokens, totalTokens, cacheWrite1hTokens, reasoningTokens } = counts;
    if (inputTokens === undefined && outputTokens === undefined)
      return counts.audioSeconds === undefined ? undefined : this.#others();
    const written = addUp(counts.cacheWrite5mTokens, cacheWrite1hTokens);
    const cacheWriteTokens = counts.cacheWriteTokens || (written ?? counts.cacheWriteTokens);
    const parts = this.#withMedia({
      input: addUp(inputTokens, counts.toolPromptTokens) ?? 0,
      read: counts.cacheReadTokens ?? 0,
      write: cacheWriteTokens ?? 0,
      output: outputTokens ?? 0,
      reasoning: reasoningTokens ?? 0,
    });
    const apart: Apart = {
      cached:
        !INCLUSIVE_MODEL.test(model ?? '') &&
        !(isOwnTotal && totalTokens !== undefined) &&
        (passesCountsOn || this.#isApart('inputTokens', CACHE_UNITS, 'cacheApart')),
      isUnsure:
        isExclusive &&
        !INCLUSIVE_MODEL.test(model ?? '') &&
        this.#isApart('inputTokens', CACHE_UNITS, 'isUnsure'),
      written:
        this.#shareDialect('inputTokens', 'cacheReadTokens') &&
        !CACHE_WRITES.some((unit) => this.#shareDialect('inputTokens', unit)),
      reasoning: this.#isApart('outputTokens', ['reasoningTokens'], 'reasoningApart'),
      isReasoningUnsure: GROK.test(model ?? ''),
    };
    const rest = toRest(parts, totalTokens, model);
    const reading = chooseReading(parts, apart, totalTokens, rest > 0);
    const { cached, reasoning } = reading ?? NOTHING_BESIDE;
    // No prompt is empty: zeros stand for what nobody counted.
    const input = inputTokens === undefined ? undefined : parts.input + cached || undefined;
    const output = parts.output + reasoning + rest;
    if (input === undefined && output === 0) return undefined;
    return {
      inputTokens: input,
      outputTokens: outputTokens === undefined && reasoning === 0 ? undefined : output,
      cacheReadTokens: counts.cacheReadTokens,
      cacheWriteTokens,
      cacheWrite1hTokens,
      reasoningTokens: reasoningTokens ?? (rest > 0 ? rest : undefined),
      ...this.#others(),
      ...(this.#modes.length === 0 ? {} : { modes: this.#modes }),
      ...(reading === undefined ? { disagrees: true } : {}),
    };
  }

  /** With audio and images, where the dialect counts them beside the input and the output, as all else. */
  #withMedia(parts: WholeAndParts): WholeAndParts {
    if (this.#places.inputTokens?.dialects.some((dialect) => dialect.mediaApart) !== true) return parts;
    const { totalTokens, inputAudioTokens, inputImageTokens, outputAudioTokens, outputImageTokens } =
      this.#counts;
    const input = addUp(parts.input, inputAudioTokens, inputImageTokens) ?? 0;
    const output = addUp(parts.output, outputAudioTokens, outputImageTokens) ?? 0;
    const all = input + output + parts.read + parts.write + parts.reasoning;
    return totalTokens === undefined || totalTokens === all ? { ...parts, input, output } : parts;
  }

  /** Whether a dialect that has the names of both counts the parts beside the whole. */
  #isApart(whole: UsageUnit, parts: readonly UsageUnit[], trait: Trait): boolean {
    return parts.some((part) =>
      this.#shareDialect(
        whole,
        part,
        ({ [trait]: is }) => is === true || (is === 'by total' && this.#counts.totalTokens === undefined),
      ),
    );
  }

  /** Whether both were told by names of one dialect. */
  #shareDialect(one: UsageUnit, other: UsageUnit, isRight = (_: UsageDialect) => true): boolean {
    const dialects = this.#places[one]?.dialects ?? [];
    return (
      this.#places[other]?.dialects.some((dialect) => dialects.includes(dialect) && isRight(dialect)) === true
    );
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
  /** Whether the total is the provider's own, and has cached tokens in it whatever its input has. */
  readonly isOwnTotal?: boolean | undefined;
  /** The attribute that holds the object. */
  readonly attribute?: string | undefined;
}

/** OpenAI's own input has the cached tokens in it, on Bedrock too. */
const INCLUSIVE_MODEL = /^(?:[a-z-]{2,12}\.)?openai\./;

/** docs.x.ai: the tokens of a completion are those of its text. */
const GROK = /(?:^|\/)grok/i;

const CACHE_WRITES = ['cacheWriteTokens', 'cacheWrite5mTokens', 'cacheWrite1hTokens'] as const;
const CACHE_UNITS = ['cacheReadTokens', ...CACHE_WRITES] as const;
const PARTS = [...CACHE_UNITS, 'reasoningTokens', 'totalTokens'] as const;

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
  ...FEE_UNITS,
  'audioSeconds',
] as const satisfies readonly UsageUnit[];

type OtherUnit = (typeof OTHER_UNITS)[number];

/** More iterations of one message than Anthropic makes. */
const MAX_REQUESTS = 64;

/** Reads a usage object of any dialect, such as that of a provider's answer. Getters that throw are the caller's to catch. */
export function readUsageObject(value: unknown, context: UsageContext = {}): TokenUsage | undefined {
  const usage = readOne(isObject(value) ? value.nativeUsage : undefined, context) ?? readOne(value, context);
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

/** Units that are listed for each request. */
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
