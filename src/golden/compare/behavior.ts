import { canonicalJson } from '../../json/index.ts';
import { type ExchangeStory, type Golden, type ProviderExchange, readExchange } from '../file/index.ts';
import { type DriftFinding, type DriftLevel, findingAt } from './finding.ts';

/** Factor by which token counts may vary between runs without a warning. */
const TOKEN_FACTOR = 1.5;

/** Changes in what the model did, exchange by exchange. */
export function behaviorDrift(before: Golden, after: Golden): DriftFinding[] {
  const found: DriftFinding[] = [];
  const [old, now] = [before.provider_responses, after.provider_responses];
  if (old.length !== now.length) {
    found.push(findingAt('failure', 'provider_responses', `was ${old.length} exchanges, is ${now.length}`));
  }
  for (let index = 0; index < Math.min(old.length, now.length); index += 1) {
    found.push(...exchangeDrift(old[index] as ProviderExchange, now[index] as ProviderExchange, index + 1));
  }
  found.push(...outcomeDrift(before, after));
  return found;
}

function exchangeDrift(old: ProviderExchange, now: ProviderExchange, number: number): DriftFinding[] {
  const found: DriftFinding[] = [];
  const add = (level: DriftLevel, place: string, message: string): void => {
    found.push(findingAt(level, place, message, number));
  };
  const [was, is] = [readExchange(old), readExchange(now)];
  if (old.response.status !== now.response.status) {
    add('failure', 'response.status', `was ${old.response.status}, is ${now.response.status}`);
    return found;
  }
  if (was.failure?.kind !== is.failure?.kind) {
    add('failure', 'response', `was ${failureWords(was)}, is ${failureWords(is)}`);
    return found;
  }
  compare(was.finishReason, is.finishReason, (message) => add('failure', 'finish reason', message));
  compare(was.model, is.model, (message) => add('info', 'model', message));
  compareCalls(was, is, add);
  if ((was.text === '') !== (is.text === '')) {
    add(
      'warning',
      'text',
      was.text === '' ? 'the model now says something' : 'the model says nothing any more',
    );
  }
  if ((was.reasoning === '') !== (is.reasoning === '')) {
    add('info', 'reasoning', was.reasoning === '' ? 'is shown now' : 'is not shown any more');
  }
  compareUsage(was, is, add);
  return found;
}

type Add = (level: DriftLevel, place: string, message: string) => void;

function compareCalls(was: ExchangeStory, is: ExchangeStory, add: Add): void {
  const names = ({ calls }: ExchangeStory): string => calls.map(({ name }) => name).join(', ') || 'no call';
  if (names(was) !== names(is)) {
    add('failure', 'tool calls', `was ${names(was)}, is ${names(is)}`);
    return;
  }
  for (const [index, call] of was.calls.entries()) {
    const [old, now] = [asJson(call.arguments), asJson(is.calls[index]?.arguments)];
    if (old !== now)
      add('failure', `arguments of ${call.name ?? 'a call'}`, `was ${short(old)}, is ${short(now)}`);
  }
}

function compareUsage(was: ExchangeStory, is: ExchangeStory, add: Add): void {
  for (const side of ['inputTokens', 'outputTokens'] as const) {
    const [old, now] = [was.usage?.[side], is.usage?.[side]];
    const place = side === 'inputTokens' ? 'prompt tokens' : 'completion tokens';
    if ((old === undefined) !== (now === undefined)) {
      add('warning', place, old === undefined ? 'are reported now' : 'are not reported any more');
    } else if (old !== undefined && now !== undefined && ratio(old, now) > TOKEN_FACTOR) {
      add('warning', place, `was ${old}, is ${now}`);
    }
  }
}

function outcomeDrift({ golden_output: was }: Golden, { golden_output: is }: Golden): DriftFinding[] {
  const found: DriftFinding[] = [];
  if (was.success !== is.success) {
    found.push(findingAt('failure', 'success', `was ${String(was.success)}, is ${String(is.success)}`));
  }
  const errors = (output: Golden['golden_output']): string =>
    Array.isArray(output.errors)
      ? output.errors.map((error: { tool_name?: unknown }) => String(error?.tool_name)).join(', ')
      : '';
  if (errors(was) !== errors(is)) {
    found.push(findingAt('failure', 'errors', `was ${errors(was) || 'none'}, is ${errors(is) || 'none'}`));
  }
  if (asJson(was.final_result) !== asJson(is.final_result)) {
    found.push(findingAt('info', 'final answer', 'is worded otherwise'));
  }
  return found;
}

function compare(was: string | undefined, is: string | undefined, add: (message: string) => void): void {
  if (was !== is) add(`was ${was ?? 'absent'}, is ${is ?? 'absent'}`);
}

function failureWords({ failure }: ExchangeStory): string {
  return failure === undefined ? 'an answer' : failure.kind.replaceAll('_', ' ');
}

function ratio(a: number, b: number): number {
  return Math.max(a, b, 1) / Math.max(1, Math.min(a, b));
}

function asJson(value: unknown): string {
  return value === undefined ? 'nothing' : canonicalJson(value);
}

function short(json: string): string {
  return json.length > 200 ? `${json.slice(0, 200)}…` : json;
}
