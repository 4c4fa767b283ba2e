import {
  type ExchangeStory,
  exchangeCost,
  type Golden,
  type GoldenProblem,
  type ProviderExchange,
  readExchange,
} from '../../../golden/index.ts';
import type { Message } from '../../../interaction/index.ts';
import { type FinishReason, readFinishReason } from '../../../wire/index.ts';
import type { FailurePoint, ModelStep, Outcome, Step, Story, TextStep, Totals } from './story.ts';
import { type CalledTool, readRecords, ToolSteps } from './tool-steps.ts';
import { spaced } from './words.ts';

/**
 * Prepares a golden for display. Pure, and linear in the size of the expanded golden.
 *
 * @param problems found when reading the golden.
 */
export function tellStory(golden: Golden, problems: readonly GoldenProblem[] = []): Story {
  const steps = listSteps(golden);
  const outcome = toOutcome(golden, steps);
  const { input } = golden;
  return {
    title: golden.test_name,
    description: golden.description,
    category: golden.category,
    runner: golden.runner,
    source: golden.source,
    provider: input.provider,
    model: golden.versions.models.join(', ') || input.model,
    recordedAt: golden.recorded_at,
    expiresAt: golden.expires_at,
    problems,
    outcome,
    totals: toTotals(golden, steps),
    steps,
    failures: failurePoints(golden, steps, outcome),
  };
}

function listSteps(golden: Golden): Step[] {
  const steps: Step[] = [];
  const tools = new ToolSteps(golden);
  const called = new Map<string, CalledTool>();
  let before: { readonly turn: number; readonly failed: boolean; readonly attempt: number } | undefined;
  let shownResults = 0;
  for (const exchange of golden.provider_responses) {
    const said = readExchange(exchange);
    const isRetry = before?.failed === true && before.turn === exchange.iteration;
    if (!isRetry) {
      const fresh = newMessages(said.request);
      const results = tools.shownIn(fresh, called);
      shownResults += results.length;
      const later = golden.runner === 'mcp_ghost' ? 'notice' : 'user';
      steps.push(...results, ...textSteps(fresh, before === undefined, later));
    }
    const attempt = isRetry && before !== undefined ? before.attempt + 1 : 1;
    steps.push(modelStep(golden, exchange, said, attempt));
    for (const { id, name, arguments: args } of said.calls) {
      if (id !== undefined) called.set(id, { name: name ?? 'tool', arguments: args });
    }
    if (said.calls.length > 0) steps.push(...tools.nextTurn());
    before = { turn: exchange.iteration, failed: said.failure !== undefined, attempt };
  }
  steps.push(...tools.remaining(shownResults));
  return steps;
}

/** The new messages of a request: those after the last one of the model. */
function newMessages(request: readonly Message[]): readonly Message[] {
  return request.slice(request.findLastIndex(({ role }) => role === 'assistant') + 1);
}

/** Input texts. After the task, those of `mcpGhost` are the orchestrator's, those of other programs the user's. */
function textSteps(messages: readonly Message[], isFirst: boolean, later: 'user' | 'notice'): TextStep[] {
  return messages.flatMap(({ role, parts }): TextStep[] => {
    if (role === 'tool') return [];
    const text = parts.flatMap((part) => (part.type === 'text' ? [part.content] : [])).join('\n');
    if (text === '') return [];
    if (role === 'system' || role === 'developer') return isFirst ? [{ kind: 'system', text }] : [];
    return [{ kind: isFirst ? 'user' : later, text }];
  });
}

function modelStep(
  golden: Golden,
  exchange: ProviderExchange,
  said: ExchangeStory,
  attempt: number,
): ModelStep {
  const { kind, message } = said.failure ?? {};
  return {
    kind: 'model',
    turn: exchange.iteration,
    attempt,
    model: said.model,
    reasoning: said.reasoning,
    text: said.text,
    calls: said.calls.map(({ name = 'tool', arguments: args }) => ({ name, arguments: args })),
    finishReason: said.finishReason,
    refused: said.refused,
    usage: said.usage,
    costUsd: said.usage === undefined ? undefined : exchangeCost(golden, said),
    ms: exchange.duration_ms ?? undefined,
    failure: kind === undefined ? undefined : `${kind.replaceAll('_', ' ')}: ${message ?? ''}`,
  };
}

function toOutcome({ golden_output: output }: Golden, steps: readonly Step[]): Outcome {
  const metadata = output.execution_metadata as { readonly stop_reason?: unknown } | undefined;
  const lastWords = steps.findLast((step): step is ModelStep => step.kind === 'model' && step.text !== '');
  const { final_result: answer } = output;
  return {
    success: typeof output.success === 'boolean' ? output.success : undefined,
    stopReason: typeof metadata?.stop_reason === 'string' ? metadata.stop_reason : undefined,
    answer: typeof answer === 'string' ? answer : (lastWords?.text ?? ''),
  };
}

function toTotals({ provider_responses: exchanges }: Golden, steps: readonly Step[]): Totals {
  const models = steps.filter((step) => step.kind === 'model');
  const tools = steps.filter((step) => step.kind === 'tool');
  const answered = models.filter(({ failure }) => failure === undefined);
  return {
    turns: new Set(models.map(({ turn }) => turn)).size,
    toolCalls: tools.length,
    failedToolCalls: tools.filter(({ failure }) => failure !== undefined).length,
    promptTokens: sumOfAll(answered.map(({ usage }) => usage?.inputTokens)),
    completionTokens: sumOfAll(answered.map(({ usage }) => usage?.outputTokens)),
    costUsd: sumOfAll(answered.map(({ costUsd }) => costUsd)),
    modelMs: models.length === 0 ? 0 : sumOfAll(models.map(({ ms }) => ms)),
    elapsedMs: elapsed(exchanges),
    toolMs: tools.reduce((sum, { ms = 0 }) => sum + ms, 0),
  };
}

function elapsed(exchanges: Golden['provider_responses']): number | undefined {
  const [first, last] = [exchanges[0]?.started_at, exchanges.at(-1)?.started_at];
  if (first === undefined || last === undefined || exchanges.length < 2) return undefined;
  return Date.parse(last) - Date.parse(first);
}

/** The sum; undefined if a part is. */
function sumOfAll(numbers: readonly (number | undefined)[]): number | undefined {
  let sum = 0;
  for (const number of numbers) {
    if (number === undefined) return undefined;
    sum += number;
  }
  return numbers.length === 0 ? undefined : sum;
}

const UNFINISHED: Readonly<Partial<Record<FinishReason, string>>> = {
  length: 'the answer was cut off by the output limit',
  context_length: 'the context window is full',
  content_filter: 'the provider blocked the answer',
  malformed_call: 'the tool call could not be read',
};

/** The failures of a run in step order, then those that belong to no step. */
function failurePoints(golden: Golden, steps: readonly Step[], outcome: Outcome): FailurePoint[] {
  const found = steps.flatMap((step, index) => findFailure(step, index + 1));
  for (const { iteration, tool_name, error } of readRecords(golden.golden_output.errors)) {
    // Before the first turn: an unreachable server or a failed plan.
    if (iteration === 0) found.push({ what: String(tool_name), message: String(error) });
  }
  const { success, stopReason } = outcome;
  if (success === false) {
    const why = stopReason === undefined ? 'no reason given' : spaced(stopReason);
    found.push({ what: 'the run', message: `ended without success: ${why}` });
  }
  return found;
}

function findFailure(step: Step, number: number): FailurePoint[] {
  if (step.kind === 'tool') {
    const { failure, name, recovery } = step;
    return failure === undefined ? [] : [{ step: number, what: name, message: failure, recovery }];
  }
  if (step.kind !== 'model') return [];
  const what = `${step.model ?? 'the model'}, turn ${step.turn}`;
  const isRefused = step.refused || step.finishReason === 'refusal';
  const unfinished = isRefused ? 'the model refused' : UNFINISHED[readFinishReason(step.finishReason)];
  const message = step.failure ?? unfinished;
  return message === undefined ? [] : [{ step: number, what, message }];
}
