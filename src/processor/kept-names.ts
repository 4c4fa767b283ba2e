/** Names of spans and events, and types of errors, where content is removed: they can quote it too. */
import { semconv } from '../base/index.ts';
import { interactionKind, readSpanType, readTextField } from '../interaction/index.ts';
import { redactText } from '../json/index.ts';

/** Replaces text that cannot be deleted. */
export const REDACTED = '[redacted]';

/** Words that instrumentations build names of: operations of GenAI and MCP, of this package, of HTTP and databases. */
const WORDS: ReadonlySet<string> = new Set(
  `
    chat text_completion generate_content embeddings rerank retrieval retrieve create_agent invoke_agent
    invoke_workflow execute_tool call_llm litellm_request raw_gen_ai_request completion completions message messages create stream span task workflow agent
    tool chain llm embedding reranker retriever guardrail evaluator unknown prompt
    chat.completions responses openai anthropic gemini cohere bedrock vertexai langgraph langchain llamaindex crewai
    ai.generateText ai.generateText.doGenerate ai.streamText ai.streamText.doStream ai.generateObject
    ai.generateObject.doGenerate ai.streamObject ai.streamObject.doStream ai.embed ai.embed.doEmbed ai.embedMany
    ai.embedMany.doEmbed ai.rerank ai.rerank.doRerank ai.toolCall
    haystack.pipeline.run haystack.component.run haystack.agent.run haystack.agent.step haystack.agent.step.llm
    haystack.agent.step.tool
    initialize ping server/discover tools/list tools/call prompts/list prompts/get resources/list resources/read
    resources/subscribe resources/unsubscribe resources/templates/list roots/list sampling/createMessage
    elicitation/create completion/complete logging/setLevel subscriptions/listen tasks/get tasks/result tasks/list
    tasks/cancel tasks/update
    policy_gate tool_barred approval_wait policy_host ask plan compaction backtrack synthesis shadow shadow_primary shadow_candidate consistency
    GET HEAD POST PUT PATCH DELETE OPTIONS CONNECT TRACE
    SELECT INSERT UPDATE DELETE COPY CREATE BEGIN COMMIT ROLLBACK
  `
    .trim()
    .split(/\s+/),
);

const EVENTS: ReadonlySet<string> = new Set(
  `
    exception log message error event progress retry loop limit breaker first_token
    gen_ai.system.message gen_ai.user.message gen_ai.assistant.message gen_ai.tool.message gen_ai.choice
    gen_ai.content.prompt gen_ai.content.completion gen_ai.evaluation.result gen_ai.client.inference.operation.details
    ai.stream.firstChunk ai.stream.finish notifications/progress
    observatory.audit_head observatory.audit_problem observatory.policy_gate observatory.task
    gen_ai.tool.call.decision
  `
    .trim()
    .split(/\s+/),
);

/**
 * The name of a GenAI or MCP span: of its words those stay that instrumentations use, and those that are the value of an
 * attribute that stays, such as the model or the tool. The others become `[redacted]`.
 */
export function keptSpanName(name: string, attributes: Readonly<Record<string, unknown>>): string {
  const kept = keptWords(name, attributes);
  return kept === REDACTED ? (describe(attributes) ?? kept) : kept;
}

/** Names of spans by the kind that their type stands for. */
const NAMES_BY_KIND = { model: 'chat', embeddings: 'embeddings', tool: 'execute_tool', other: undefined };

/** A name for a span of whose own nothing stays: what it does, and with what model or tool. */
function describe(attributes: Readonly<Record<string, unknown>>): string | undefined {
  const kind = interactionKind({ name: '', attributes }) ?? 'other';
  const type = readSpanType(attributes) ?? '';
  const does = NAMES_BY_KIND[kind] ?? (WORDS.has(type) ? type : undefined);
  const isCall = kind !== 'other';
  const what = isCall ? readTextField(attributes, kind === 'tool' ? 'tool_name' : 'model') : undefined;
  return does === undefined || what === undefined ? does : `${does} ${keptText('name', what)}`;
}

function keptWords(name: string, attributes: Readonly<Record<string, unknown>>): string {
  if (WORDS.has(name)) return name;
  const words = name.slice(0, 1_024).split(' ');
  const kept = words.map((word) => (WORDS.has(word) || holds(attributes, word) ? word : REDACTED));
  return kept.filter((word, index) => word !== REDACTED || kept[index - 1] !== REDACTED).join(' ');
}

function holds(attributes: Readonly<Record<string, unknown>>, text: string): boolean {
  for (const key in attributes) if (attributes[key] === text) return true;
  return false;
}

export function keptEventName(name: string): string {
  return EVENTS.has(name) ? name : REDACTED;
}

/** Class names, codes and numbers, as instrumentations write them; not sentences, and nothing with other signs. */
const ERROR_TYPE =
  /^(?:(?:[A-Za-z_]\w{0,40}\.){0,6}[$_]?[A-Z][A-Za-z]{2,60}|[A-Z][A-Z0-9_]{1,48}|[a-z]{1,40}(?:_[a-z]{1,40}){0,6}|_OTHER|-?\d{1,6})$/;

/** Longest text that stays: the names on the list are those of ids, models and routes. Bounds the time to redact it. */
const MAX_KEPT_CHARS = 8_192;

/** What stays of a text under a name that stays. */
export function keptText(key: string, text: string): string {
  if (text.length > MAX_KEPT_CHARS) return REDACTED;
  if (key === semconv.ATTR_ERROR_TYPE || key === 'exception.type')
    return ERROR_TYPE.test(text) ? text : '_OTHER';
  return redactText(text);
}
