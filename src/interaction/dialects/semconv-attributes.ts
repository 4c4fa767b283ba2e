import { semconv } from '../../base/index.ts';
import { isObject, type JsonObject, parseContainerOrKeep, readList, toText } from '../../json/index.ts';
import type { Message, MessageRole } from '../messages.ts';
import { parseConversation, parseInstructions, parseMessages } from '../parse-messages.ts';
import { answerIn, type Dialect, type DialectContent, toNonEmpty } from './dialect.ts';

/**
 * The semantic conventions, 1.37 to 1.41: `gen_ai.input.messages`, `gen_ai.output.messages` and
 * `gen_ai.system_instructions`, as JSON text or structured (SDK 3). Anthropic's own spans and the instrumentations of
 * OpenLLMetry since 0.22 write these. Also the two attributes they replaced, `gen_ai.prompt` and `gen_ai.completion`.
 */
export const semconvAttributes: Dialect = {
  name: 'semconv attributes',
  read: (span, kind) => {
    const content = readContentAttributes(span.attributes);
    if (kind !== 'tool') return content;
    const given = span.attributes[semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS];
    return given === undefined ? content : { ...content, toolArguments: parseContainerOrKeep(given) };
  },
};

/** The content attributes of a span or of its `gen_ai.client.inference.operation.details` event. */
export function readContentAttributes(attributes: JsonObject): DialectContent {
  return {
    input: readInput(attributes),
    output: readOutput(attributes),
    documents: readDocuments(attributes),
  };
}

function readInput(attributes: JsonObject): readonly Message[] | undefined {
  const messages = attributes[semconv.ATTR_GEN_AI_INPUT_MESSAGES];
  const instructions = attributes[semconv.ATTR_GEN_AI_SYSTEM_INSTRUCTIONS];
  if (messages !== undefined || instructions !== undefined) {
    const system = parseInstructions(parseContainerOrKeep(instructions));
    const rest = messages === undefined ? [] : readMessages(messages, 'user');
    if (system.length > 0 || rest.length > 0) return [...system, ...rest];
  }
  const prompt = attributes['gen_ai.prompt'] ?? attributes['gen_ai.retrieval.query.text'];
  return prompt === undefined ? undefined : toNonEmpty(parseConversation(prompt));
}

function readOutput(attributes: JsonObject): readonly Message[] | undefined {
  const messages = attributes[semconv.ATTR_GEN_AI_OUTPUT_MESSAGES];
  if (messages !== undefined) return toNonEmpty(readMessages(messages, 'assistant'));
  const completion = attributes['gen_ai.completion'];
  return completion === undefined ? undefined : toNonEmpty(answerIn(completion));
}

/**
 * Messages as JSON text or structured, or bare text. JSON that does not parse was truncated by a length limit. It is
 * ignored, because its hash would match no prompt.
 */
function readMessages(value: unknown, role: MessageRole): Message[] {
  const decoded = parseContainerOrKeep(value);
  if (typeof decoded === 'string' && CUT_JSON.test(decoded)) return [];
  return parseMessages(decoded, role);
}

const CUT_JSON = /^\s*[[{]/;

function readDocuments(attributes: JsonObject): readonly string[] | undefined {
  const documents = attributes['gen_ai.retrieval.documents'];
  if (documents === undefined) return undefined;
  const texts = readList(parseContainerOrKeep(documents)).map((document) =>
    isObject(document) ? toText(document.content ?? document.text) : toText(document),
  );
  return toNonEmpty(texts.filter((text) => text !== undefined));
}
