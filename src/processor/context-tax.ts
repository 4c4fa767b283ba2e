import type { FieldValues } from '../base/index.ts';
import { type Interaction, readOfferedTools, type ToolOffer, toServerTool } from '../interaction/index.ts';
import { sha256Hex } from '../json/index.ts';
import {
  type CallPrice,
  correctTax,
  costOfFirst,
  estimateTax,
  learnTax,
  type TaxEstimate,
  type TaxModel,
  toTaxModel,
} from '../signals/index.ts';
import { type CountedDefinition, DefinitionCounts } from './definition-counts.ts';
import { RecentMap } from './recent-map.ts';

/** Sets of tools, by model, whose tax is kept. */
const MAX_SETS = 1_024;
/** A list is recorded again after this time: the span that held it may not have been sampled or kept. */
const TOLD_FOR_MS = 60_000;
/** Characters of a list on one span; content redaction removes texts of more than 8,192. */
const MAX_LIST = 8_000;

/** What providers and MCP take as the name of a tool. Any other text may be content and is not recorded. */
const TOOL_NAME = /^[\w.:/-]{1,128}$/;

interface KnownSet {
  /** The figure with the least variance so far. */
  best: TaxEstimate;
  /** Tokens of the definitions in this figure. */
  definitionTokens: number;
  /** The names of the tools and their tokens, in parts that fit on a span, and the part to record next. */
  parts: readonly string[];
  next: number;
  toldAt: number;
}

/**
 * What the definitions of the tools a model call offers cost of it: the fields `offered_tools*`. One set of tools costs
 * each call of a model the same, so the figure of the call that shows it best holds for those after it.
 */
export class ContextTax {
  readonly #counts = new DefinitionCounts();
  readonly #sets = new RecentMap<KnownSet>(MAX_SETS);
  /** How models count, as far as calls have shown it, by their names. */
  readonly #learned = new RecentMap<TaxModel>(MAX_SETS);

  /** Counts the tools of a call that is about to be made, in the background. */
  prepare(tools: unknown, model: string | undefined): void {
    this.#counts.prepare(tools, toTaxModel(undefined, model).form, model);
  }

  /** Resolves when all tools announced so far are counted. */
  settled(): Promise<void> {
    return this.#counts.settled();
  }

  fieldsOf(interaction: Interaction, price: CallPrice, now = Date.now()): FieldValues {
    const offered = readOfferedTools(interaction.tools);
    if (offered.length === 0) return {};
    const model = toTaxModel(interaction.provider, interaction.model);
    const counted = this.#counts.of(offered, model.form);
    if (counted === undefined) {
      this.#counts.prepare(interaction.tools, model.form, interaction.model);
      return { offered_tools: offered.length };
    }
    if (counted.some(({ isExact }) => !isExact))
      this.#counts.prepare(interaction.tools, model.form, interaction.model);
    const hash = sha256Hex(
      counted.map((definition, i) => `${offered[i]?.name} ${definition.hash}\n`).join(''),
    );
    const set = this.#toSet(hash, interaction, model, offered, counted, now);
    const fields = { offered_tools: offered.length, offered_tools_hash: hash, ...takeNextPart(set, now) };
    const { usage } = interaction;
    if (usage?.inputTokens === undefined) return fields;
    const tokens = Math.min(Math.round(set.best.tokens), usage.inputTokens);
    const cost = costOfFirst(tokens, usage, price);
    return {
      ...fields,
      offered_tools_tokens: tokens,
      ...(cost !== undefined && { offered_tools_cost_usd: cost }),
    };
  }

  #toSet(
    hash: string,
    interaction: Interaction,
    base: TaxModel,
    offered: readonly ToolOffer[],
    counted: readonly CountedDefinition[],
    now: number,
  ): KnownSet {
    const name = `${interaction.model}`;
    const key = `${hash} ${name}`;
    const definitionTokens = counted.reduce((sum, { tokens }) => sum + tokens, 0);
    const found = this.#sets.get(key);
    // Counted in the meantime: what stood on the first figure is done again.
    const known = found?.definitionTokens === definitionTokens ? found : undefined;
    const model = this.#learned.get(name) ?? base;
    const before = known?.best ?? estimateTax(model, definitionTokens);
    const best = corrected(base, estimateTax(base, definitionTokens), before, interaction);
    const isCorrected = best !== before;
    if (isCorrected) this.#learned.set(name, learnTax(base, definitionTokens, best));
    if (known !== undefined && now - known.toldAt < TOLD_FOR_MS) {
      known.best = best;
      return known;
    }
    const shown = isCorrected ? learnTax(base, definitionTokens, best) : model;
    const parts = packParts(shown, offered, counted, definitionTokens);
    const set = { best, definitionTokens, parts, next: 0, toldAt: now };
    this.#sets.set(key, set);
    return set;
  }
}

/** The estimate corrected by the provider's count, if that shows more than what is known; else what is known. */
function corrected(
  model: TaxModel,
  estimate: TaxEstimate,
  known: TaxEstimate,
  interaction: Interaction,
): TaxEstimate {
  const inputTokens = interaction.usage?.inputTokens;
  if (inputTokens === undefined || !mayImprove(model, known, inputTokens)) return known;
  const request = interaction.plainRequest;
  if (request === undefined) return known;
  const found = correctTax(model, estimate, request, inputTokens, interaction.model);
  return found !== undefined && found.variance < known.variance ? found : known;
}

/** Before texts are read: whether messages of so many tokens could show more. */
function mayImprove(model: TaxModel, { tokens, variance }: TaxEstimate, inputTokens: number): boolean {
  const text = Math.max(0, inputTokens - 2 * tokens);
  return (model.textDeviation * text) ** 2 + 1 < 0.8 * variance;
}

/** The next part of the list, until all parts are recorded. */
function takeNextPart(set: KnownSet, now: number): FieldValues {
  const part = set.parts[set.next];
  if (part === undefined) return {};
  set.next += 1;
  set.toldAt = now;
  return { offered_tools_list: part };
}

/**
 * The list as JSON: `{"total": 512, "tools": {"<server>": {"<tool>": 57}}}`. Tokens as estimated; the rest of the total is
 * what the provider adds. A part holds as many tools as fit, and the total of all.
 */
function packParts(
  model: TaxModel,
  offered: readonly ToolOffer[],
  counted: readonly CountedDefinition[],
  definitionTokens: number,
): readonly string[] {
  const total = Math.round(estimateTax(model, definitionTokens).tokens);
  const parts: string[] = [];
  let servers = new Map<string, Map<string, number>>();
  let size = 0;
  const close = () => {
    const tools = Object.fromEntries([...servers].map(([server, all]) => [server, Object.fromEntries(all)]));
    parts.push(JSON.stringify({ total, tools }));
    servers = new Map();
    size = 0;
  };
  offered.forEach((tool, i) => {
    const { server, tool: name } = toServerTool(tool);
    if (!TOOL_NAME.test(name)) return;
    const length =
      JSON.stringify(name).length + 8 + (servers.has(server) ? 0 : JSON.stringify(server).length + 4);
    if (size + length > MAX_LIST - 40 && size > 0) close();
    size += length;
    const ofServer = servers.get(server) ?? new Map<string, number>();
    ofServer.set(name, Math.round(model.scale * (counted[i]?.tokens ?? 0)));
    servers.set(server, ofServer);
  });
  close();
  return parts;
}
