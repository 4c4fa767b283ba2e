import type { GhostResult, StopReason, ToolChainEntry } from './result.ts';
import type { RunLog } from './run-log.ts';

const MAX_REASON_CHARS = 300;

const ENDINGS: Readonly<Record<StopReason, string>> = {
  completed: 'The model finished with an answer',
  max_iterations: 'The limit of turns was reached and the answer is what was known by then',
  budget: 'The budget was used up and the answer is what was known by then',
  loop: 'A loop of calls was stopped and the answer is what was known by then',
  model_stopped: 'The model stopped without a full answer',
  provider_failed: 'The model provider failed before the end',
  no_servers: 'No MCP server could be connected',
};

/** The operation in a few sentences, from counted facts alone. */
export function summarize(
  { chain, errors, iterations, serversConnected }: RunLog,
  end: StopReason,
  serversConfigured: number,
): string {
  const good = chain.filter((entry) => entry.success).length;
  const tools = [...new Set(chain.map((entry) => entry.toolName))];
  const sentences = [`${ENDINGS[end]}, after ${count(iterations, 'turn')}.`];
  sentences.push(
    chain.length === 0
      ? 'No tool was called.'
      : `${count(chain.length, 'tool call')}, ${good} successful: ${tools.join(', ')}.`,
  );
  const recovered = errors.filter((error) => error.recoveryAction !== null).length;
  if (errors.length > 0) {
    sentences.push(`${count(errors.length, 'error')}, ${recovered} of them with an attempt to recover.`);
  }
  if (serversConnected < serversConfigured) {
    sentences.push(`${serversConnected} of ${count(serversConfigured, 'server')} connected.`);
  }
  return sentences.join(' ');
}

/** The steps that led to the answer, one sentence each. */
export function reasoningTrail(chain: readonly ToolChainEntry[], end: StopReason): string[] {
  const trail = chain.map((entry, index) => {
    const why = entry.reasoning === '' ? 'gave no reason' : oneLine(entry.reasoning);
    const from =
      entry.dependsOn.length === 0
        ? ''
        : `, with values from step ${entry.dependsOn.map((at) => at + 1).join(', ')}`;
    const ending = entry.success ? 'it succeeded' : `it failed: ${oneLine(entry.error ?? '')}`;
    const retry = entry.retryAttempt === 0 ? '' : ` (retry ${entry.retryAttempt})`;
    return `Step ${index + 1}, turn ${entry.iteration}: ${why}; called ${entry.toolName}${retry}${from}; ${ending}.`;
  });
  return [...trail, `${ENDINGS[end]}.`];
}

/** Successful calls in percent; 100 when there was none. */
export function successRate(chain: GhostResult['toolChain']): number {
  if (chain.length === 0) return 100;
  return (chain.filter((entry) => entry.success).length / chain.length) * 100;
}

function oneLine(text: string): string {
  const line = text.slice(0, MAX_REASON_CHARS).replaceAll(/\s+/g, ' ').trim();
  return text.length > MAX_REASON_CHARS ? `${line}...` : line;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
