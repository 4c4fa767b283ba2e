import { parseContainerOrKeep, toJsonText, toText } from '../../json/index.ts';
import type { Message } from '../messages.ts';
import { parseConversation } from '../parse-messages.ts';
import { type Dialect, toNonEmpty } from './dialect.ts';

/** Vercel's AI SDK 4 to 6: `ai.prompt`, `ai.prompt.messages`, `ai.response.text`, `ai.toolCall.args` ... */
export const aiSdk: Dialect = {
  name: 'AI SDK',
  read: ({ attributes }, kind) => {
    if (attributes['ai.operationId'] === undefined) return undefined;
    if (kind === 'tool')
      return {
        toolArguments: parseContainerOrKeep(attributes['ai.toolCall.args']),
        toolResult: attributes['ai.toolCall.result'],
      };
    const prompt = attributes['ai.prompt.messages'] ?? attributes['ai.prompt'];
    return {
      input: prompt === undefined ? readValues(attributes) : toNonEmpty(parseConversation(prompt)),
      output: readAnswer(attributes['ai.response.text'] ?? attributes['ai.response.object']),
    };
  },
};

/** The texts to embed: each is itself JSON text. */
function readValues(attributes: Readonly<Record<string, unknown>>): readonly Message[] | undefined {
  const values = attributes['ai.values'] ?? attributes['ai.value'];
  const parts = (Array.isArray(values) ? values : [values]).flatMap((value) => {
    const content = unquoted(value);
    return content === undefined ? [] : [{ type: 'text', content } as const];
  });
  return parts.length === 0 ? undefined : [{ role: 'user', parts }];
}

function unquoted(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('"')) return toText(value);
  try {
    return toText(JSON.parse(value)) ?? value;
  } catch {
    return value;
  }
}

function readAnswer(value: unknown): readonly Message[] | undefined {
  if (value === undefined || value === null) return undefined;
  const content = typeof value === 'string' ? value : toJsonText(value);
  return content === undefined ? undefined : [{ role: 'assistant', parts: [{ type: 'text', content }] }];
}
