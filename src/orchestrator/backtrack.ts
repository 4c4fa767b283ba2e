import type { ToolCallOutcome } from '../mcp-client/index.ts';
import { NOTICES } from './prompts.ts';
import type { RecoveryAction } from './result.ts';

/** Why a call did not work: an outcome of the server, or what kept it from being made. */
export type FailureKind =
  | Exclude<ToolCallOutcome['kind'], 'ok' | 'cancelled'>
  | 'invalid_arguments'
  | 'unknown_tool'
  | 'breaker_open'
  | 'denied';

export interface CallFailure {
  readonly toolName: string;
  readonly kind: FailureKind;
  readonly message: string;
  /** JSON-RPC code of a `protocol_error`. */
  readonly errorCode?: number | undefined;
  /** Failures of this tool in a row, this one included. */
  readonly failuresOfTool: number;
}

/** A tool that might do instead. */
export interface Alternative {
  readonly toolName: string;
  readonly modelName: string;
}

/** What the model is asked to do about a failure. */
export interface Recovery {
  readonly failure: CallFailure;
  readonly strategy: Exclude<RecoveryAction, 'automatic_retry' | 'other_provider'>;
  readonly alternatives: readonly Alternative[];
}

const INVALID_PARAMS = -32602;
/** Failed turns in a row after which smaller repairs are given up for a new approach. */
const RETHINK_AFTER = 3;

/**
 * Chooses the strategy for a failure. By the kind of failure first, by how often it happened next: arguments are
 * worth changing once or twice, a server that does not answer is worth going round, a call that takes too long is
 * worth splitting, and after three failed turns the approach itself is at fault.
 */
export function chooseRecovery(
  failure: CallFailure,
  failedTurns: number,
  alternatives: readonly Alternative[],
): Recovery {
  return { failure, alternatives, strategy: strategyFor(failure, failedTurns, alternatives.length > 0) };
}

function strategyFor(
  failure: CallFailure,
  failedTurns: number,
  hasAlternative: boolean,
): Recovery['strategy'] {
  if (failedTurns >= RETHINK_AFTER) return 'context_clarification';
  const otherTool = hasAlternative ? 'alternative_tool' : 'context_clarification';
  switch (failure.kind) {
    case 'timeout':
      return failure.failuresOfTool === 1 ? 'decomposition' : otherTool;
    case 'denied':
    case 'unknown_tool':
    case 'breaker_open':
    case 'transport_error':
      return otherTool;
    case 'protocol_error':
      if (failure.errorCode !== INVALID_PARAMS) return otherTool;
      break;
    default:
      break;
  }
  if (failure.failuresOfTool === 1) return 'retry_with_modified_arguments';
  return hasAlternative ? 'alternative_tool' : 'decomposition';
}

/** The message that sends the model back with what went wrong. */
export function recoveryPrompt(recoveries: readonly Recovery[]): string {
  const lines = recoveries.map(
    (recovery) =>
      `Tool ${recovery.failure.toolName} failed: ${recovery.failure.message}\n${advice(recovery)}`,
  );
  return `${NOTICES.failed}\n\n${lines.join('\n\n')}\n\nPlease try a different approach.`;
}

function advice({ strategy, alternatives }: Recovery): string {
  switch (strategy) {
    case 'retry_with_modified_arguments':
      return 'Read the error, correct the arguments, and call the tool again. Do not repeat the same arguments.';
    case 'alternative_tool':
      return `Use another tool for this, for instance ${alternatives.map((one) => one.modelName).join(', ')}.`;
    case 'decomposition':
      return 'Break this step into smaller ones: ask for less at a time, and combine the results.';
    case 'context_clarification':
      return 'Step back: say what you know so far and what is missing, then choose another way, or answer with what you have.';
  }
}

/** Words that say nothing about what a tool is for. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and or the of to in for with on by from this that is it tool use used returns return ' +
    'given as be can will if not'
  ).split(' '),
);

export function toolWords(name: string, description: string | undefined): ReadonlySet<string> {
  const words = `${name.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')} ${(description ?? '').slice(0, 500)}`
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1 && !STOP_WORDS.has(word));
  return new Set(words);
}

/** How many words two tools, or a tool and a task, have in common. */
export function sharedWords(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  return [...other].filter((word) => one.has(word)).length;
}

const MAX_ALTERNATIVES = 3;

/** The tools most like a failed one by their words, best first; none that share nothing with it. */
export function findAlternatives<T extends { readonly words: ReadonlySet<string> }>(
  failed: ReadonlySet<string>,
  candidates: readonly T[],
): T[] {
  const scored: { candidate: T; score: number }[] = [];
  for (const candidate of candidates) {
    const shared = sharedWords(failed, candidate.words);
    if (shared > 0) scored.push({ candidate, score: shared / (failed.size + candidate.words.size - shared) });
  }
  scored.sort((left, right) => right.score - left.score);
  return scored.slice(0, MAX_ALTERNATIVES).map(({ candidate }) => candidate);
}
