import { firstText, type JsonObject, parseContainerOrKeep, toText } from '../../json/index.ts';
import { collectIndexed, collectNested, type IndexedGroup } from '../indexed.ts';
import type { InteractionKind } from '../kind.ts';
import type { Message, MessagePart } from '../messages.ts';
import { parseConversation, parseMessages } from '../parse-messages.ts';
import { answerIn, type Dialect, type DialectContent, toNonEmpty } from './dialect.ts';

/**
 * OpenInference (Arize): messages flattened to numbered attributes (`llm.input_messages.0.message.content`), and the
 * whole input and output of any span in `input.value` and `output.value`, text or JSON by their mime type.
 */
export const openInference: Dialect = {
  name: 'OpenInference',
  read: (span, kind) => {
    const { attributes } = span;
    if (!isOpenInference(attributes)) return undefined;
    if (kind === 'tool') {
      return {
        toolArguments: parseContainerOrKeep(
          attributes['input.value'] ?? attributes['tool_call.function.arguments'],
        ),
        toolResult: attributes['output.value'],
      };
    }
    const groups = collectIndexed(attributes, PREFIXES);
    const messages = (prefix: (typeof PREFIXES)[number], role: string) =>
      toNonEmpty((groups.get(prefix) ?? []).flatMap((group) => readMessage(group, role)));
    const texts = (prefix: (typeof PREFIXES)[number], key: string) =>
      (groups.get(prefix) ?? []).map((group) => toText(group.get(key))).filter((text) => text !== undefined);
    const queries = [
      ...texts('llm.prompts.', 'prompt.text'),
      ...texts('embedding.embeddings.', 'embedding.text'),
    ];
    return {
      input:
        messages('llm.input_messages.', 'user') ??
        toNonEmpty(parseMessages(queries)) ??
        readInputValue(attributes),
      output:
        messages('llm.output_messages.', 'assistant') ??
        toNonEmpty(parseMessages(texts('llm.choices.', 'completion.text'), 'assistant')) ??
        readOutputValue(attributes, kind),
      documents: toNonEmpty([
        ...texts('retrieval.documents.', 'document.content'),
        ...texts('reranker.output_documents.', 'document.content'),
      ]),
    } satisfies DialectContent;
  },
};

const PREFIXES = [
  'llm.input_messages.',
  'llm.output_messages.',
  'llm.prompts.',
  'llm.choices.',
  'embedding.embeddings.',
  'retrieval.documents.',
  'reranker.output_documents.',
] as const;

/** `llm.*` alone is not enough: older OpenLLMetry and others use it too. */
function isOpenInference(attributes: JsonObject): boolean {
  if (attributes['openinference.span.kind'] !== undefined) return true;
  for (const key in attributes) {
    if (key.startsWith('llm.input_messages.') || key.startsWith('llm.output_messages.')) return true;
  }
  return false;
}

function readMessage(group: IndexedGroup, role: string): Message[] {
  const parts: MessagePart[] = [];
  const content = group.get('message.content');
  if (typeof content === 'string') parts.push({ type: 'text', content });
  for (const item of collectNested(group, 'message.contents.')) {
    const text = item.get('message_content.text');
    if (typeof text !== 'string') continue;
    const reasoning = item.get('message_content.type') === 'reasoning';
    parts.push({ type: reasoning ? 'reasoning' : 'text', content: text });
  }
  const calls = collectNested(group, 'message.tool_calls.').map((call) => ({
    id: call.get('tool_call.id'),
    name: call.get('tool_call.function.name'),
    arguments: call.get('tool_call.function.arguments'),
  }));
  return parseMessages({
    role: group.get('message.role') ?? role,
    parts: parts.map((part) => ({ ...part })),
    tool_calls: calls,
    tool_call_id: group.get('message.tool_call_id'),
    name: group.get('message.name'),
  });
}

function readInputValue(attributes: JsonObject): readonly Message[] | undefined {
  const value = firstText(attributes['input.value'], attributes['reranker.query']);
  return value === undefined ? undefined : toNonEmpty(parseConversation(value));
}

/** The output of an embedding or a retrieval is not an answer. */
function readOutputValue(attributes: JsonObject, kind: InteractionKind): readonly Message[] | undefined {
  const value = toText(attributes['output.value']);
  const spanKind = attributes['openinference.span.kind'];
  if (value === undefined || (kind !== 'model' && !ANSWERING_KINDS.has(String(spanKind)))) return undefined;
  return answerIn(value);
}

const ANSWERING_KINDS: ReadonlySet<string> = new Set(['LLM', 'AGENT', 'CHAIN']);
