import { formatPlural } from '../../base/index.ts';
import type { Golden } from '../../golden/index.ts';
import { canonicalHash, canonicalJson } from '../../json/index.ts';
import { selfConsistencyScore } from '../../signals/index.ts';
import { type Story, type ToolStep, tellStory, totalTokens } from './inspect/index.ts';

/** Matching elements of two lists, or an element of one of them. */
export interface Pair<T> {
  readonly a: T | undefined;
  readonly b: T | undefined;
}

/** Longer lists (by product of lengths) are paired by position, since alignment takes quadratic time. */
const MAX_CELLS = 4_000_000;

/** Pairs elements with equal keys, in order, by the longest common subsequence. */
export function align<T>(a: readonly T[], b: readonly T[], keyOf: (item: T) => string): Pair<T>[] {
  if (a.length * b.length > MAX_CELLS) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, at) => ({ a: a[at], b: b[at] }));
  }
  const [keysA, keysB] = [a.map(keyOf), b.map(keyOf)];
  const width = b.length + 1;
  // Length of the longest common subsequence of the suffixes from each pair of positions.
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        keysA[i] === keysB[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: Pair<T>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && keysA[i] === keysB[j]) pairs.push({ a: a[i++], b: b[j++] });
    else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1)))
      pairs.push({ a: a[i++], b: undefined });
    else pairs.push({ a: undefined, b: b[j++] });
  }
  return pairs;
}

export type SideBySide = ReturnType<typeof sideBySide>;
export type SideFacts = ReturnType<typeof toFacts>;
export type CallPair = ReturnType<typeof callPairs>[number];

/**
 * Compares two goldens of one task. Wording, tokens, cost and time do not count as differences in behavior. Runs with
 * `inputDifferences` are not comparable; `answerOverlap` is the Jaccard similarity of the words of the answers, null if
 * one is missing.
 */
export function sideBySide(a: Golden, b: Golden) {
  const [left, right] = [tellStory(a), tellStory(b)];
  const calls = callPairs(listTools(left), listTools(right));
  const facts = { a: toFacts(left), b: toFacts(right) };
  const { answer: one } = facts.a;
  const { answer: other } = facts.b;
  return {
    ...facts,
    inputDifferences: inputDifferences(a, b),
    differences: listDifferences(left, right, facts, calls),
    calls,
    answerOverlap: one === '' || other === '' ? null : selfConsistencyScore(one, other),
  };
}

function inputDifferences(a: Golden, b: Golden): string[] {
  const fields = ['system_prompt', 'user_prompt', 'server_config', 'options'] as const;
  const differing: string[] = fields.filter(
    (field) => canonicalHash(a.input[field] ?? null) !== canonicalHash(b.input[field] ?? null),
  );
  if (canonicalHash(a.versions.tools) !== canonicalHash(b.versions.tools)) differing.push('tools');
  return differing;
}

function toFacts(story: Story) {
  const { outcome, totals } = story;
  const ended = outcome.stopReason ?? (outcome.success === true ? 'completed' : 'failed');
  return {
    testName: story.title,
    provider: story.provider,
    model: story.model,
    source: story.source,
    outcome: outcome.success === undefined ? 'not kept' : ended,
    turns: totals.turns,
    toolCalls: totals.toolCalls,
    failedToolCalls: totals.failedToolCalls,
    totalTokens: totalTokens(totals) ?? null,
    costUsd: totals.costUsd ?? null,
    modelMs: totals.modelMs ?? null,
    elapsedMs: totals.elapsedMs ?? null,
    answer: outcome.answer,
  };
}

/** Tool calls in order, paired by tool. */
function callPairs(a: readonly ToolStep[], b: readonly ToolStep[]) {
  return align(a, b, ({ name }) => name).map(({ a: one, b: other }) => ({
    tool: (one ?? other)?.name ?? '',
    verdict: decideVerdict(one, other),
    a: one === undefined ? null : callText(one),
    b: other === undefined ? null : callText(other),
  }));
}

function decideVerdict(
  a: ToolStep | undefined,
  b: ToolStep | undefined,
): 'same' | 'arguments' | 'outcome' | 'only_a' | 'only_b' {
  if (a === undefined) return 'only_b';
  if (b === undefined) return 'only_a';
  if (argumentsText(a) !== argumentsText(b)) return 'arguments';
  return (a.failure === undefined) === (b.failure === undefined) ? 'same' : 'outcome';
}

function callText(step: ToolStep): string {
  return `${argumentsText(step)}${step.failure === undefined ? '' : ' failed'}`;
}

function argumentsText({ arguments: args }: ToolStep): string {
  return canonicalJson(args ?? {});
}

function listDifferences(
  left: Story,
  right: Story,
  { a, b }: { readonly a: SideFacts; readonly b: SideFacts },
  calls: readonly CallPair[],
): string[] {
  const found: string[] = [];
  if (a.outcome !== b.outcome) found.push(`the outcome: ${a.outcome}, ${b.outcome}`);
  const count = (...verdicts: readonly CallPair['verdict'][]): number =>
    calls.filter(({ verdict }) => verdicts.includes(verdict)).length;
  const alone = count('only_a', 'only_b');
  if (alone > 0) found.push(`${formatPlural(alone, 'tool call')} that only one of them made`);
  if (count('arguments') > 0) found.push(`the arguments of ${count('arguments')} paired calls`);
  if (count('outcome') > 0) found.push(`whether ${count('outcome')} paired calls failed`);
  const [oneWay, otherWay] = [toRecoveries(left), toRecoveries(right)];
  if (oneWay !== otherWay) found.push(`the recoveries: ${oneWay || 'none'}, ${otherWay || 'none'}`);
  if ((a.answer === '') !== (b.answer === '')) found.push('whether there is an answer');
  return found;
}

function toRecoveries(story: Story): string {
  return story.failures.flatMap(({ recovery }) => (recovery === undefined ? [] : [recovery])).join(', ');
}

function listTools({ steps }: Story): ToolStep[] {
  return steps.filter((step) => step.kind === 'tool');
}
