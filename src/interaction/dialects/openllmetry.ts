import { parseContainerOrKeep, toText } from '../../json/index.ts';
import { collectIndexed, collectNested, type IndexedGroup } from '../indexed.ts';
import type { Message } from '../messages.ts';
import { parseConversation, parseMessages } from '../parse-messages.ts';
import { parseSerializedParts } from '../parse-parts.ts';
import { answerIn, type Dialect, toNonEmpty } from './dialect.ts';

/**
 * OpenLLMetry (Traceloop): numbered attributes (`gen_ai.prompt.0.content`, earlier `llm.prompts.0.content`), and the
 * input and output of workflows, tasks and tools in `traceloop.entity.input` and `.output`.
 */
export const openLlmetry: Dialect = {
  name: 'OpenLLMetry',
  read: (span, kind) => {
    const { attributes } = span;
    const entityOutput = toText(attributes['traceloop.entity.output']);
    const entityInput = attributes['traceloop.entity.input'];
    if (kind === 'tool')
      return entityInput === undefined
        ? undefined
        : { toolArguments: parseContainerOrKeep(entityInput), toolResult: entityOutput };
    const groups = collectIndexed(attributes, PREFIXES);
    const prompts = groups.get('gen_ai.prompt.') ?? groups.get('llm.prompts.') ?? [];
    const completions = groups.get('gen_ai.completion.') ?? groups.get('llm.completions.') ?? [];
    return {
      input:
        toNonEmpty(prompts.flatMap((group) => readMessage(group, 'user'))) ??
        (entityInput === undefined ? undefined : toNonEmpty(parseConversation(entityInput))),
      output:
        toNonEmpty(completions.flatMap((group) => readMessage(group, 'assistant'))) ??
        (entityOutput === undefined ? undefined : answerIn(entityOutput)),
    };
  },
};

const PREFIXES = ['gen_ai.prompt.', 'gen_ai.completion.', 'llm.prompts.', 'llm.completions.'] as const;

function readMessage(group: IndexedGroup, role: string): Message[] {
  const content = group.get('content');
  const calls = collectNested(group, 'tool_calls.').map((call) => ({
    id: call.get('id'),
    name: call.get('name'),
    arguments: call.get('arguments'),
  }));
  if (content === undefined && calls.length === 0) return [];
  return parseMessages({
    role: group.get('role') ?? role,
    parts: content === undefined ? [] : parseSerializedParts(content),
    tool_calls: calls,
    tool_call_id: group.get('tool_call_id'),
  });
}
