import type { FinishReason } from './types.ts';

const WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop end_turn stop_sequence completed',
  tool_calls: 'tool_calls tool_call tool_use function_call',
  length: 'length max_tokens max_output_tokens',
  context_length: 'context_length model_context_window_exceeded',
  content_filter:
    'content_filter refusal safety recitation language blocklist prohibited_content spii image_safety',
  malformed_call: 'malformed_call malformed_function_call unexpected_tool_call too_many_tool_calls',
  pause: 'pause pause_turn continuation',
  other: 'other',
};

/** What the words of all providers and frameworks mean, in lower case and with underscores. */
const MEANINGS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries(WORDS).flatMap(([reason, words]) =>
    words.split(' ').map((word) => [word, reason as FinishReason] as const),
  ),
);

/** Reads the word of any provider for why its model stopped; `other` for none and for an unknown one. */
export function readFinishReason(word: string | undefined): FinishReason {
  return (word !== undefined && MEANINGS.get(normalize(word))) || 'other';
}

/** The semantic conventions' words, where they are not ours. */
const CONVENTIONAL: ReadonlyMap<string, string> = new Map([
  ['tool_calls', 'tool_call'],
  ['context_length', 'length'],
  ['malformed_call', 'error'],
  ['failed', 'error'],
]);

/** A finish reason as the semantic conventions write it in messages. Unknown words stand as they are. */
export function toConventionalFinish(word: string | undefined): string | undefined {
  if (word === undefined) return undefined;
  const reason = readFinishReason(word);
  const known = reason === 'other' ? normalize(word) : reason;
  return CONVENTIONAL.get(known) ?? known;
}

function normalize(word: string): string {
  return word.toLowerCase().replaceAll('-', '_');
}
