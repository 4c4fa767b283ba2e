import { sliced } from '../base/index.ts';
import { type JsonObject, objectAt, stringAt, toJsonText } from '../json/index.ts';
import { type Conflict, Conflicts } from './conflicts.ts';
import type { RunError, ToolChainEntry } from './result.ts';

/** What a run has done and said so far, and what went wrong. */
export class RunLog {
  readonly chain: ToolChainEntry[] = [];
  readonly errors: RunError[] = [];
  readonly conflicts: Conflicts = new Conflicts();
  serversConnected = 0;
  /** Turns of the model so far. */
  iterations = 0;
  /** Attempts to recover: recovery prompts, one per failed call, and automatic retries. */
  backtracks = 0;
  readonly #turn = sliced();
  #lastWords: { readonly text: string; readonly iteration: number } = { text: '', iteration: 0 };

  /** Takes note of a text the model gave beside or instead of calls. */
  says(text: string): void {
    if (text !== '') this.#lastWords = { text, iteration: this.iterations };
  }

  /** @returns what the results of this report disagree about with earlier ones. */
  async add(report: {
    readonly entries: readonly ToolChainEntry[];
    readonly retried: readonly RunError[];
    readonly server?: string | undefined;
  }): Promise<readonly Conflict[]> {
    this.chain.push(...report.entries);
    this.errors.push(...report.retried);
    this.backtracks += report.retried.length;
    const found: Conflict[] = [];
    for (const entry of report.entries) {
      found.push(...this.conflicts.add(entry, report.server));
      await this.#turn();
    }
    return found;
  }

  fail(toolName: string, error: string, recovering = false): void {
    if (recovering) this.backtracks += 1;
    this.note(toolName, error, recovering ? 'retry_with_modified_arguments' : null);
  }

  note(toolName: string, error: string, recoveryAction: RunError['recoveryAction']): void {
    this.errors.push({ iteration: this.iterations, toolName, error, recoveryAction });
  }

  /** What can be said without asking the model again: its last words, and the latest good result since. */
  known(): string | null {
    const parts = [this.#lastWords.text];
    const latest = this.chain.findLast((entry) => entry.success);
    if (latest !== undefined && latest.iteration >= this.#lastWords.iteration) {
      parts.push(splitWords(latest.result));
    }
    return parts.filter((part) => part !== '').join('\n\n') || null;
  }
}

/** A result in words: of content blocks their texts, and of others what they are. */
function splitWords(result: unknown): string {
  if (typeof result === 'string') return result;
  if (!Array.isArray(result) || !result.every((block) => stringAt(block, 'type') !== undefined))
    return toJsonText(result) ?? '';
  const words = result.map((block: JsonObject) => {
    const { type, text, mimeType } = { ...block, ...objectAt(block, 'resource') };
    if (typeof text === 'string') return text;
    return `[${typeof mimeType === 'string' ? `${mimeType} ` : ''}${type}]`;
  });
  return words.join('\n');
}
