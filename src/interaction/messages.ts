/**
 * Messages in the form of the semantic conventions, and the texts from which the signals are computed.
 *
 * Definitions, for every dialect and provider alike:
 * - The *prompt* of a conversation is every text part of its system, developer, user and assistant messages, in order,
 *   joined by a blank line. A single user message is therefore exactly its text. Empty parts add nothing.
 * - The *retrieved context* is the text of every tool result that did not fail, joined likewise. A result without text,
 *   such as an image, adds nothing.
 * - The *tool result summary* is the text of every tool result that failed, each after `error: `, joined likewise. A
 *   failure followed by a successful call of the same tool is left out.
 * - The *answer* is the text parts of the first output message, joined without a separator, as the SDKs of the
 *   providers do (`output_text`, `response.text`). Reasoning is never part of it; a refusal is.
 */
import type { TraceStep } from '../evidence/index.ts';
import { type ToolOutcome, toolOutcome } from './tool-outcome.ts';

export type MessageRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

interface TextPart {
  readonly type: 'text';
  readonly content: string;
}

interface ReasoningPart {
  readonly type: 'reasoning';
  readonly content: string;
}

interface ToolCallPart {
  readonly type: 'tool_call';
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** A JSON value, or the text the model wrote where that is not JSON. */
  readonly arguments?: unknown;
}

export interface ToolCallResponsePart {
  readonly type: 'tool_call_response';
  /** Id of the call this answers. */
  readonly id?: string | undefined;
  /** Name of the tool, if the dialect has it; otherwise looked up by `id`. */
  readonly name?: string | undefined;
  /** Text, content blocks, an MCP `CallToolResult`, or any other JSON value. */
  readonly response: unknown;
  /** Whether the tool failed, if the dialect says so; otherwise derived from the response. */
  readonly isError?: boolean | undefined;
}

/** Parts with text or tool traffic. Media is left out, because no signal reads it. */
export type MessagePart = TextPart | ReasoningPart | ToolCallPart | ToolCallResponsePart;

export interface Message {
  readonly role: MessageRole;
  readonly parts: readonly MessagePart[];
}

/** The request as text, as defined above; fields without text are absent. */
export interface ConversationText {
  readonly prompt?: string | undefined;
  readonly retrievedContext?: string | undefined;
  readonly toolResultSummary?: string | undefined;
  /** The tool calls with their results, in the order of the results; undefined if there is none. */
  readonly steps?: readonly TraceStep[] | undefined;
  /** `retrievedContext` again: other evidence may be joined to that. */
  readonly stepContext?: string | undefined;
  /** Whether the model has said nothing before: then no call is missing from the messages. */
  readonly isOpening?: boolean | undefined;
}

/** Separator between the parts of a prompt and between tool results. */
export const PART_SEPARATOR = '\n\n';

/** Composes prompt, retrieved context and tool result summary from the messages of a request. */
export function conversationText(messages: readonly Message[]): ConversationText {
  const prompt: string[] = [];
  // Most conversations have none.
  let results: ToolResults | undefined;
  let isOpening = true;
  for (const { role, parts } of messages) {
    if (role === 'assistant' || role === 'tool') isOpening = false;
    for (const part of parts) {
      if (part.type === 'text' && role !== 'tool') {
        prompt.push(part.content);
        continue;
      }
      results ??= new ToolResults();
      if (part.type === 'tool_call') results.called(part);
      else if (part.type === 'tool_call_response') results.add(toolOutcome(part), part);
      else if (part.type === 'text') results.add(toolOutcome({ response: part.content }), {});
    }
  }
  return { prompt: joined(prompt), ...results?.text(), ...(isOpening && { isOpening }) };
}

type StepTexts = Pick<ConversationText, 'retrievedContext' | 'toolResultSummary' | 'steps' | 'stepContext'>;

/** Texts that a program gives with the tool calls of its run, completed by what the messages of a request would say. */
export function withSteps<T extends StepTexts>(given: T): T {
  if (given.steps === undefined || given.stepContext !== undefined) return given;
  const results = new ToolResults();
  for (const step of given.steps) {
    const { tool: name, arguments: args, result: response, isError, isOpaque } = step;
    results.called({ type: 'tool_call', name, arguments: args });
    const outcome = toolOutcome({ response, isError });
    results.add({ ...outcome, isOpaque: isOpaque ?? outcome.isOpaque }, { name });
  }
  const { stepContext, toolResultSummary } = results.text();
  const { retrievedContext: documents } = given;
  const isWithin = stepContext === undefined || documents?.startsWith(stepContext) === true;
  return {
    ...given,
    retrievedContext: isWithin
      ? documents
      : joined(documents === undefined ? [stepContext] : [stepContext, documents]),
    stepContext,
    toolResultSummary: given.toolResultSummary ?? toolResultSummary,
  };
}

/** The answer in a list of output messages: the text of the first one. Absent when it has no text part. */
export function answerText(outputs: readonly Message[]): string | undefined {
  let answer: string | undefined;
  for (const part of outputs[0]?.parts ?? []) {
    if (part.type === 'text') answer = (answer ?? '') + part.content;
  }
  return answer;
}

/** Few texts are put together faster one by one; of many, that would be a deep tree of texts. */
const MAX_CONCATENATED = 8;

/** Sorts tool results into evidence and failures. */
class ToolResults {
  readonly context: string[] = [];
  readonly steps: TraceStep[] = [];
  readonly #calls = new Map<string, ToolCallPart>();
  #lastCall: ToolCallPart | undefined;
  readonly #failures = new Map<string, string[]>();
  #unnamed = 0;

  called(call: ToolCallPart): void {
    if (call.id !== undefined) this.#calls.set(call.id, call);
    this.#lastCall = call;
  }

  add(outcome: ToolOutcome, result: Pick<ToolCallResponsePart, 'id' | 'name'>): void {
    const call = result.id === undefined ? undefined : this.#calls.get(result.id);
    const tool = result.name ?? call?.name;
    const named = call ?? (this.#lastCall?.name === tool || tool === undefined ? this.#lastCall : undefined);
    this.steps.push({
      tool: tool ?? named?.name ?? '',
      arguments: named?.arguments,
      result: outcome.text,
      isError: outcome.failed,
      // An image is not an empty result.
      ...(outcome.isOpaque && { isOpaque: true }),
    });
    if (!outcome.failed) {
      // Unreadable evidence does not count as missing evidence.
      if (!outcome.isOpaque) this.context.push(outcome.text);
      if (tool !== undefined) this.#failures.delete(`tool ${tool}`);
      return;
    }
    const key = tool === undefined ? `result ${this.#unnamed++}` : `tool ${tool}`;
    const texts = this.#failures.get(key);
    const text = `error: ${outcome.text}`;
    if (texts === undefined) this.#failures.set(key, [text]);
    else texts.push(text);
  }

  text(): StepTexts {
    const retrievedContext = joined(this.context);
    const toolResultSummary = joined([...this.#failures.values()].flat());
    return this.steps.length === 0
      ? { retrievedContext, toolResultSummary }
      : { retrievedContext, toolResultSummary, steps: this.steps, stepContext: retrievedContext };
  }
}

function joined(texts: readonly string[]): string | undefined {
  if (texts.length === 0) return undefined;
  if (texts.length > MAX_CONCATENATED) return texts.filter((text) => text !== '').join(PART_SEPARATOR);
  let all = '';
  for (const text of texts) {
    if (text !== '') all = all === '' ? text : all + PART_SEPARATOR + text;
  }
  return all;
}
