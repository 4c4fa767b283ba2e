/**
 * G5: every claim of a summary carries a quote of the source, or the summary is refused.
 *
 * The rules are those of docs/agent-contract.md. A quote proves that a text is there, not that the claim follows from
 * it; nothing here makes a summary true.
 */

import { scoreEvidence } from '../../evidence/index.ts';
import { checkJsonValue, isObject, StrictJsonError } from '../../json/index.ts';
import { type ReasonCode, scanText } from '../reasons/index.ts';
import { claimProblem } from './claim.ts';
import { type Echo, readLeaves } from './leaves.ts';
import { type LocatedQuote, QuoteFinder } from './locate.ts';

/** The parts of a summary, with how many items each may hold. */
export const SECTIONS = { bullets: 5, risks: 3, recommendations: 3 } as const;
export type Section = keyof typeof SECTIONS;

export const MAX_CLAIM_WORDS = 12;
/** Items that may lean on one and the same quote. */
const MAX_REUSE = 2;
const MAX_EVIDENCE_CHARS = 2_000;

/** One claim with the host's copy of its quote. */
export interface GroundedItem extends LocatedQuote {
  readonly claim: string;
  /** True when the quote reads like an instruction to a model (scanner.ts): show it as quoted text only. */
  readonly isSuspect: boolean;
}

/** A summary as it may be shown. */
export type GroundedSummary = Readonly<Record<Section, readonly GroundedItem[]>>;

export type SummaryVerdict =
  | {
      readonly accepted: true;
      readonly reasonCode: 'accepted';
      readonly summary: GroundedSummary;
      readonly coverage: EvidenceCoverage;
    }
  | { readonly accepted: false; readonly reasonCode: ReasonCode; readonly message: string };

/** How the summary leans on its source. */
export interface EvidenceCoverage {
  /** Share of the source's string characters covered by quotes (0..1). */
  readonly coverage: number;
  /** Share of the quotes that are exact rather than normalized (0..1); 1 without quotes. */
  readonly exactRatio: number;
  /** How many different places are quoted. */
  readonly distinctSpans: number;
}

/**
 * Checks a summary against its source.
 * @param source the typed result of the tool, any JSON value.
 * @param summary what the model wrote, parsed.
 * @param echo what the caller said, which is no evidence when the source repeats it.
 * @param limits the highest evidence risk that the claims together may have.
 */
export function checkSummary(
  source: unknown,
  summary: unknown,
  echo: Echo = {},
  { maxEvidenceRisk = 1 }: EvidenceLimits = {},
): SummaryVerdict {
  const problem = formProblem(summary);
  if (problem !== undefined) return { accepted: false, ...problem };
  const leaves = readLeaves(source, echo);
  const finder = new QuoteFinder(leaves);
  const uses = new Map<string, number>();
  const grounded: Record<Section, GroundedItem[]> = { bullets: [], risks: [], recommendations: [] };
  for (const section of Object.keys(SECTIONS) as Section[]) {
    for (const [index, { claim, evidence }] of countItems(summary, section).entries()) {
      const refuse = (reasonCode: ReasonCode, message: string): SummaryVerdict => ({
        accepted: false,
        reasonCode,
        message: `${section}[${index}]: ${message}`,
      });
      const words = claim
        .trim()
        .split(/\s+/)
        .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
      if (words > MAX_CLAIM_WORDS)
        return refuse('claim_too_long', `the claim has ${words} words; ${MAX_CLAIM_WORDS} are allowed`);
      const location = finder.locate(evidence);
      if (!('quote' in location)) return refuse(location.reasonCode, 'the quote cannot be used');
      const place = JSON.stringify([location.quote.path, location.quote.start, location.quote.end]);
      const used = (uses.get(place) ?? 0) + 1;
      if (used > MAX_REUSE) return refuse('evidence_reused', `more than ${MAX_REUSE} items use one quote`);
      uses.set(place, used);
      const unsupported = claimProblem(claim, location.says);
      if (unsupported !== undefined) return refuse(unsupported, 'the quote does not carry the claim');
      grounded[section].push({
        claim,
        ...location.quote,
        isSuspect: scanText(location.quote.quote).length > 0,
      });
    }
  }
  const risk = maxEvidenceRisk < 1 ? readRisk(source, Object.values(grounded).flat(), echo) : 0;
  if (risk > maxEvidenceRisk)
    return {
      accepted: false,
      reasonCode: 'claim_contradicts_result',
      message: `the evidence risk of the claims is ${risk}; ${maxEvidenceRisk} is allowed`,
    };
  return {
    accepted: true,
    reasonCode: 'accepted',
    summary: grounded,
    coverage: toCoverage(grounded, leaves.evidence),
  };
}

interface EvidenceLimits {
  readonly maxEvidenceRisk?: number | undefined;
}

/** The claims as one answer, held against the call that gave the source. */
function readRisk(source: unknown, items: readonly GroundedItem[], { args, request = '' }: Echo): number {
  const answer = items.map(({ claim }) => `${claim.trim().replace(/[.!?]+$/, '')}.`).join('\n');
  const steps = [{ tool: '', arguments: args, result: source }];
  return scoreEvidence({ prompt: request, answer, steps })?.risk ?? 0;
}

interface Item {
  readonly claim: string;
  readonly evidence: string;
}

const SUMMARY_LIMITS = { maxBytes: 131_072, maxDepth: 8, maxValues: 2_000 };

function formProblem(summary: unknown): { reasonCode: ReasonCode; message: string } | undefined {
  const wrong = (message: string) => ({ reasonCode: 'summary_invalid' as const, message });
  try {
    checkJsonValue(summary, SUMMARY_LIMITS);
  } catch (error) {
    if (error instanceof StrictJsonError) return wrong(error.message);
    throw error;
  }
  if (!isObject(summary)) return wrong('A summary is an object');
  if (summary.type !== 'summary') return wrong('\'type\' is "summary"');
  for (const key of Object.keys(summary)) {
    if (key !== 'type' && !Object.hasOwn(SECTIONS, key))
      return wrong(`The key '${key.slice(0, 64)}' is unknown`);
  }
  for (const [section, limit] of Object.entries(SECTIONS)) {
    const items = summary[section];
    // `risks` and `recommendations` may be left out, which says the same as an empty list.
    if (items === undefined && section !== 'bullets') continue;
    if (!Array.isArray(items)) return wrong(`'${section}' is a list`);
    if (items.length > limit) return wrong(`'${section}' has ${items.length} items; ${limit} are allowed`);
    for (const item of items as unknown[]) {
      if (
        !isObject(item) ||
        Object.keys(item).length !== 2 ||
        !isText(item.claim, 1_000) ||
        !isText(item.evidence, MAX_EVIDENCE_CHARS)
      ) {
        return wrong(
          `Each of '${section}' has exactly a 'claim' and an 'evidence', both texts that are not blank`,
        );
      }
    }
  }
  return undefined;
}

function isText(value: unknown, maxChars: number): boolean {
  return typeof value === 'string' && value.trim() !== '' && value.length <= maxChars;
}

/** The items of a section of a summary whose form has been checked. */
function countItems(summary: unknown, section: Section): readonly Item[] {
  return (summary as Partial<Record<Section, readonly Item[]>>)[section] ?? [];
}

function toCoverage(
  summary: GroundedSummary,
  leaves: readonly { readonly text: string }[],
): EvidenceCoverage {
  const items = Object.values(summary).flat();
  const places = new Map(
    items.map((item) => [JSON.stringify([item.path, item.start, item.end]), item.end - item.start]),
  );
  const total = leaves.reduce((sum, leaf) => sum + leaf.text.length, 0);
  const quoted = [...places.values()].reduce((sum, length) => sum + length, 0);
  return {
    coverage: total === 0 ? 0 : Math.min(1, quoted / total),
    exactRatio: items.length === 0 ? 1 : items.filter((item) => item.match === 'exact').length / items.length,
    distinctSpans: places.size,
  };
}
