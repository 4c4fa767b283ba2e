import { formatPlural } from '../base/index.ts';
import { conflictSentence } from './conflicts.ts';
import type { GhostResult, StopReason, ToolChainEntry, ToolPerformance } from './result.ts';
import type { RunLog } from './run-log.ts';

const MAX_REASON_CHARS = 300;

/** How a run ended, in fixed words. */
export const ENDINGS: Readonly<Record<StopReason, string>> = {
  completed: 'The model finished with an answer',
  max_iterations: 'The limit of turns was reached and the answer is what was known by then',
  budget: 'The budget was used up and the answer is what was known by then',
  loop: 'A loop of calls was stopped and the answer is what was known by then',
  model_stopped: 'The model stopped without a full answer',
  provider_failed: 'The model provider failed before the end',
  no_servers: 'No MCP server could be connected',
  aborted: 'The run was aborted and the answer is what was known by then',
};

/** The operation in a few sentences, from counted facts alone. */
export function summarize(
  { chain, errors, conflicts, iterations, serversConnected }: RunLog,
  end: StopReason,
  serversConfigured: number,
): string {
  const good = chain.filter((entry) => entry.success).length;
  const tools = [...new Set(chain.map((entry) => entry.toolName))];
  const sentences = [`${ENDINGS[end]}, after ${formatPlural(iterations, 'turn')}.`];
  sentences.push(
    chain.length === 0
      ? 'No tool was called.'
      : `${formatPlural(chain.length, 'tool call')}, ${good} successful: ${tools.join(', ')}.`,
  );
  const recovered = errors.filter((error) => error.recoveryAction !== null).length;
  if (errors.length > 0) {
    sentences.push(
      `${formatPlural(errors.length, 'error')}, ${recovered} of them with an attempt to recover.`,
    );
  }
  const looking = chain.filter(({ looksFailed }) => looksFailed === true).length;
  if (looking > 0)
    sentences.push(`${formatPlural(looking, 'result')} that looks like an error and is not marked as one.`);
  if (conflicts.found.length > 0)
    sentences.push(`${formatPlural(conflicts.found.length, 'disagreement')} of results.`);
  if (serversConnected < serversConfigured) {
    sentences.push(`${serversConnected} of ${formatPlural(serversConfigured, 'server')} connected.`);
  }
  return sentences.join(' ');
}

/** The steps that led to the answer and the results that disagree, one sentence each. */
export function reasoningTrail(
  { chain, conflicts }: RunLog,
  { stopReason, answer }: { readonly stopReason: StopReason; readonly answer: string | null },
): string[] {
  const trail = chain.map((entry, index) => {
    const why = entry.reasoning === '' ? 'gave no reason' : oneLine(entry.reasoning);
    const from =
      entry.dependsOn.length === 0
        ? ''
        : `, with values from step ${entry.dependsOn.map((at) => at + 1).join(', ')}`;
    const looks = entry.looksFailed === true ? ', and its result looks like an error' : '';
    const ending = entry.success ? `it succeeded${looks}` : `it failed: ${oneLine(entry.error ?? '')}`;
    const retry = entry.retryAttempt === 0 ? '' : ` (retry ${entry.retryAttempt})`;
    return `Step ${index + 1}, turn ${entry.iteration}: ${why}; called ${entry.toolName}${retry}${from}; ${ending}.`;
  });
  const disagreements = conflicts.found.map((conflict) => conflictSentence(conflict, answer ?? ''));
  return [...trail, ...disagreements, `${ENDINGS[stopReason]}.`];
}

/** Successful calls in percent, without those that look failed; 100 when there was none. */
export function successRate(chain: GhostResult['toolChain']): number {
  if (chain.length === 0) return 100;
  return (
    (chain.filter(({ success, looksFailed }) => success && looksFailed !== true).length / chain.length) * 100
  );
}

function oneLine(text: string): string {
  const line = text.slice(0, MAX_REASON_CHARS).replaceAll(/\s+/g, ' ').trim();
  return text.length > MAX_REASON_CHARS ? `${line}...` : line;
}

/** The figures of each tool, slowest tool first. A cache hit counts as a call that took no time. */
export function toolPerformance(chain: readonly ToolChainEntry[]): ToolPerformance[] {
  const byTool = new Map<string, ToolChainEntry[]>(chain.map(({ toolName }) => [toolName, []]));
  for (const entry of chain) byTool.get(entry.toolName)?.push(entry);
  return [...byTool]
    .map(([toolName, entries]) => {
      const count = (counts: (entry: ToolChainEntry) => boolean): number => entries.filter(counts).length;
      const looking = count(({ looksFailed }) => looksFailed === true);
      const times = entries.map(({ executionTime }) => executionTime);
      const totalTime = times.reduce((sum, time) => sum + time, 0);
      return {
        toolName,
        calls: entries.length,
        failures: count(({ success }) => !success),
        ...(looking === 0 ? {} : { looksFailed: looking }),
        retries: count(({ retryAttempt }) => retryAttempt > 0),
        cacheHits: count(({ cached }) => cached),
        totalTime,
        meanTime: totalTime / entries.length,
        maxTime: times.reduce((most, time) => Math.max(most, time), 0),
      };
    })
    .sort((left, right) => right.totalTime - left.totalTime);
}
