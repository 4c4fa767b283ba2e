import type { Golden } from '../../../golden/index.ts';
import { canonicalHash, canonicalJson } from '../../../json/index.ts';
import { selfConsistencyScore } from '../../../signals/index.ts';
import { type Story, type ToolStep, tellStory } from '../inspect/index.ts';
import { align } from './align.ts';

/** Two goldens next to each other: the same task given to two providers or models. */
export interface SideBySide {
  readonly a: SideFacts;
  readonly b: SideFacts;
  /** Fields of the input that are not the same, provider and model apart. With any, the comparison is not like for like. */
  readonly inputDifferences: readonly string[];
  /** What is not the same of what the two did. */
  readonly differences: readonly string[];
  /** Tool calls in order, those of the same tool paired. */
  readonly calls: readonly CallPair[];
  /** Jaccard similarity of the words of the two answers, 0 to 1; null when one has none. */
  readonly answerOverlap: number | null;
}

export interface SideFacts {
  readonly testName: string;
  readonly provider: string;
  readonly model: string;
  readonly source: string;
  readonly outcome: string;
  readonly turns: number;
  readonly toolCalls: number;
  readonly failedToolCalls: number;
  readonly totalTokens: number | null;
  readonly costUsd: number | null;
  readonly modelMs: number;
  readonly answer: string;
}

export interface CallPair {
  readonly tool: string;
  /** `same`; `arguments` or `outcome` differ; only `a` or only `b` made it. */
  readonly verdict: 'same' | 'arguments' | 'outcome' | 'only_a' | 'only_b';
  readonly a: string | null;
  readonly b: string | null;
}

/** Puts two goldens next to each other. Wording, tokens, cost and time are shown and are no differences of behaviour. */
export function sideBySide(a: Golden, b: Golden): SideBySide {
  const [left, right] = [tellStory(a), tellStory(b)];
  const calls = callPairs(toolsOf(left), toolsOf(right));
  const facts = { a: factsOf(left), b: factsOf(right) };
  const { answer: one } = facts.a;
  const { answer: other } = facts.b;
  return {
    ...facts,
    inputDifferences: inputDifferences(a, b),
    differences: differencesOf(left, right, facts, calls),
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

function factsOf(story: Story): SideFacts {
  const { outcome, totals } = story;
  const { promptTokens, completionTokens } = totals;
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
    totalTokens:
      promptTokens === undefined && completionTokens === undefined
        ? null
        : (promptTokens ?? 0) + (completionTokens ?? 0),
    costUsd: totals.costUsd ?? null,
    modelMs: totals.modelMs,
    answer: outcome.answer,
  };
}

function callPairs(a: readonly ToolStep[], b: readonly ToolStep[]): CallPair[] {
  return align(a, b, ({ name }) => name).map(({ a: one, b: other }) => ({
    tool: (one ?? other)?.name ?? '',
    verdict: verdictOf(one, other),
    a: one === undefined ? null : callText(one),
    b: other === undefined ? null : callText(other),
  }));
}

function verdictOf(a: ToolStep | undefined, b: ToolStep | undefined): CallPair['verdict'] {
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

function differencesOf(
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
  if (alone > 0) found.push(`${alone} tool call${alone === 1 ? '' : 's'} that only one of them made`);
  if (count('arguments') > 0) found.push(`the arguments of ${count('arguments')} paired calls`);
  if (count('outcome') > 0) found.push(`whether ${count('outcome')} paired calls failed`);
  const [oneWay, otherWay] = [recoveriesOf(left), recoveriesOf(right)];
  if (oneWay !== otherWay) found.push(`the recoveries: ${oneWay || 'none'}, ${otherWay || 'none'}`);
  if ((a.answer === '') !== (b.answer === '')) found.push('whether there is an answer');
  return found;
}

function recoveriesOf(story: Story): string {
  return story.failures.flatMap(({ recovery }) => (recovery === undefined ? [] : [recovery])).join(', ');
}

function toolsOf({ steps }: Story): ToolStep[] {
  return steps.filter((step) => step.kind === 'tool');
}
