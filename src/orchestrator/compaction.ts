import { type ModelMessage, userText, visibleText } from './providers/index.ts';

/** A line that begins so is kept word for word through every summary. */
export const CRITICAL_MARK = '[critical]';
/** Rule of thumb for text whose tokens no provider has counted yet. */
const CHARS_PER_TOKEN = 4;
const MAX_DIGEST_RESULT_CHARS = 600;
const MAX_CRITICAL_LINES = 100;

/** A conversation cut in three: what always stays, what is to be summarized, what stays whole. */
export interface CompactionPlan {
  readonly head: readonly ModelMessage[];
  readonly old: readonly ModelMessage[];
  readonly recent: readonly ModelMessage[];
}

/**
 * Decides what to summarize. Cuts only before an assistant message, so that a call and its result, and the thinking
 * and signatures that go with them, stay together on one side.
 *
 * @param headLength messages at the start that always stay: system prompt and task.
 * @param keepTurns turns at the end to keep whole; fewer are kept when these alone exceed `maxTokens`, one at least.
 * @returns nothing when there is nothing old enough to summarize.
 */
export function planCompaction(
  messages: readonly ModelMessage[],
  headLength: number,
  keepTurns: number,
  maxTokens: number,
): CompactionPlan | undefined {
  const turns: number[] = [];
  for (let index = headLength; index < messages.length; index += 1) {
    if (messages[index]?.role === 'assistant') turns.push(index);
  }
  let kept = Math.min(keepTurns, turns.length - 1);
  while (kept > 1 && estimateMessageTokens(messages.slice(turns[turns.length - kept])) > maxTokens) kept -= 1;
  const cut = kept < 1 ? undefined : turns[turns.length - kept];
  if (cut === undefined || cut <= headLength) return undefined;
  return {
    head: messages.slice(0, headLength),
    old: messages.slice(headLength, cut),
    recent: messages.slice(cut),
  };
}

/** The conversation with its old part replaced by a summary and the lines the model marked critical. */
export function compacted(plan: CompactionPlan, summary: string): ModelMessage[] {
  const critical = criticalLines(plan.old);
  const marked = critical.length === 0 ? '' : `\n\nFacts to keep:\n${critical.join('\n')}`;
  return [...plan.head, userText(`Summary of the work so far:\n${summary}${marked}`), ...plan.recent];
}

/** Lines the model marked critical, in order, each once; those carried by an earlier summary included. */
export function criticalLines(messages: readonly ModelMessage[]): string[] {
  const lines = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'assistant' && message.role !== 'user') continue;
    for (const line of visibleText(message.parts).split('\n')) {
      const trimmed = line.trim();
      if (trimmed.slice(0, CRITICAL_MARK.length).toLowerCase() === CRITICAL_MARK) lines.add(trimmed);
    }
  }
  return [...lines].slice(-MAX_CRITICAL_LINES);
}

/** The old part as a transcript: what was said, called and returned, results cut short. */
export function digest(messages: readonly ModelMessage[], maxChars: number): string {
  const lines: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      for (const result of message.parts) {
        const text = visibleText(result.content);
        const shown =
          text.length > MAX_DIGEST_RESULT_CHARS ? `${text.slice(0, MAX_DIGEST_RESULT_CHARS)} [...]` : text;
        lines.push(`${result.name} ${result.isError ? 'failed' : 'returned'}: ${shown}`);
      }
    } else if (message.role === 'assistant') {
      const text = visibleText(message.parts).trim();
      if (text !== '') lines.push(`assistant: ${text}`);
      for (const part of message.parts) {
        if (part.type === 'tool_call') lines.push(`called ${part.name} ${JSON.stringify(part.arguments)}`);
      }
    } else if (message.role === 'user') lines.push(`user: ${visibleText(message.parts)}`);
  }
  const text = lines.join('\n');
  if (text.length <= maxChars) return text;
  const half = Math.floor(maxChars / 2);
  return `${text.slice(0, half)}\n[...]\n${text.slice(-half)}`;
}

/** Tokens of messages by rule of thumb, for deciding when to summarize; never reported as usage. */
export function estimateMessageTokens(messages: readonly ModelMessage[]): number {
  let chars = 0;
  for (const message of messages) chars += messageChars(message);
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

const IMAGE_CHARS = 6_000;

function messageChars(message: ModelMessage): number {
  if (message.role === 'system') return message.text.length;
  let chars = 0;
  for (const part of message.parts) {
    if (part.type === 'text' || part.type === 'reasoning') chars += part.text.length;
    else if (part.type === 'image') chars += IMAGE_CHARS;
    else if (part.type === 'tool_call') chars += part.name.length + JSON.stringify(part.arguments).length;
    else if (part.type === 'tool_result') {
      for (const block of part.content) chars += block.type === 'text' ? block.text.length : IMAGE_CHARS;
    } else chars += 200;
  }
  return chars;
}
