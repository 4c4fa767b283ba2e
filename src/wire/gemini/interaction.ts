import {
  isObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  readList,
  readObject,
  stringAt,
  toText,
} from '../../json/index.ts';
import { readUsageObject } from '../../signals/index.ts';
import {
  type Answer,
  type AnswerApi,
  type AnswerStream,
  type AssistantPart,
  checkArguments,
  defineApi,
  type ErrorReport,
  firstCode,
  readFinishReason,
  StreamRoom,
  TextBuffer,
} from '../contract/index.ts';
import { GEMINI_NAME } from './answer.ts';
import { readGeminiError } from './error.ts';

/** Reads an `interaction`: since SDK 2 `steps` hold what was said, before that `outputs` did. */
function readInteraction(whole: unknown): Answer {
  const value = readObject(whole);
  const items = countItems(value);
  const toolCallCount = items.filter(({ type }) => type === 'function_call').length;
  const reason = readReason(value, toolCallCount > 0);
  return {
    provider: GEMINI_NAME,
    id: toText(value.id) || undefined,
    model: toText(value.model),
    finishReasons: reason === undefined ? [] : [reason],
    usage: readUsageObject(value.usage),
    serviceTier: toText(value.service_tier),
    toolCallCount,
    error: toError(value),
    choices: () =>
      items.length === 0 && reason === undefined
        ? []
        : [
            {
              parts: items.map(readItem),
              finishReason: readFinishReason(reason),
              rawFinishReason: reason,
            },
          ],
  };
}

/** What the model said, without what was said to it. */
function countItems(value: JsonObject): readonly JsonObject[] {
  const steps = listAt(value, 'steps').filter(isObject);
  const last = steps.findLastIndex(({ type }) => type === 'user_input' || type === 'function_result');
  const said = steps
    .slice(last + 1)
    .flatMap((step) => (step.type === 'model_output' ? readList(step.content) : [step]));
  return (steps.length > 0 ? said : listAt(value, 'outputs')).filter(isObject);
}

/** Why it ended, in the words of the conventions, for the API has a status in place of a reason. */
function readReason({ status }: JsonObject, hasCalls: boolean): string | undefined {
  switch (status) {
    case 'completed':
    case 'requires_action':
      return hasCalls ? 'tool_call' : 'stop';
    case 'incomplete':
    case 'budget_exceeded':
      return 'length';
    case 'failed':
      return 'error';
    case 'queued':
    case 'in_progress':
      return undefined;
    default:
      return toText(status);
  }
}

function toError(value: JsonObject): ErrorReport | undefined {
  const error = objectAt(value, 'error') ?? listAt(value, 'errors').find(isObject);
  if (error === undefined && value.status !== 'failed') return undefined;
  return {
    code: firstCode(error?.status, error?.code) ?? 'failed',
    message: stringAt(error, 'message'),
    status: numberAt(error, 'code'),
  };
}

function readItem(item: JsonObject, index: number): AssistantPart {
  switch (item.type) {
    case 'text':
      return { type: 'text', text: toText(item.text) ?? '' };
    case 'thought': {
      const summary = listAt(item, 'summary').map((part) => stringAt(part, 'text') ?? '');
      return { type: 'reasoning', text: summary.join(''), provider: GEMINI_NAME, raw: item };
    }
    case 'function_call':
      return {
        type: 'tool_call',
        id: toText(item.id) || `call_${index}`,
        name: toText(item.name) ?? '',
        ...checkArguments(item.arguments),
      };
    default:
      return { type: 'opaque', provider: GEMINI_NAME, raw: item };
  }
}

/** The Interactions API, of the Gemini API and of Vertex AI. */
export const geminiInteractions: AnswerApi = defineApi({
  name: 'gemini.interactions',
  recognizes: (value) =>
    typeof value.status === 'string' &&
    (Array.isArray(value.steps) || (Array.isArray(value.outputs) && value.object !== 'response')),
  readAnswer: readInteraction,
  newStream: () => new InteractionStream(),
  readError: readGeminiError,
});

/** Steps kept of one interaction. */
const MAX_ITEMS = 4_096;

/**
 * Assembles the events of an interaction: `interaction.created`, `step.start`, `step.delta`, `interaction.completed`;
 * before SDK 2 `interaction.start`, `content.start`, `content.delta` and `interaction.complete`. The last event holds
 * the usage and, as a rule, nothing of what was said.
 */
class InteractionStream implements AnswerStream {
  readonly #room = new StreamRoom();
  readonly #items = new Map<number, StreamedItem>();
  #interaction: JsonObject = {};
  #error: JsonObject | undefined;
  #isComplete = false;

  push(chunk: unknown): void {
    const event = objectAt(chunk, 'data') ?? readObject(chunk);
    const type = toText(event.event_type) ?? '';
    const index = numberAt(event, 'index') ?? 0;
    if (isObject(event.interaction)) {
      this.#interaction = { ...this.#interaction, ...event.interaction };
      this.#isComplete ||= type.startsWith('interaction.complete');
    } else if (type === 'interaction.status_update') {
      this.#interaction = { ...this.#interaction, status: event.status };
    } else if (type === 'error') this.#error = objectAt(event, 'error');
    else if (type.endsWith('.start')) this.#item(index)?.open(readObject(event.step ?? event.content));
    else if (type.endsWith('.delta')) this.#item(index)?.push(readObject(event.delta));
  }

  #item(index: number): StreamedItem | undefined {
    const known = this.#items.get(index);
    if (known !== undefined || this.#items.size >= MAX_ITEMS) return known;
    const made = new StreamedItem(this.#room);
    this.#items.set(index, made);
    return made;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  whole(): JsonObject {
    const items = [...this.#items].sort(([left], [right]) => left - right).map(([, item]) => item.finish());
    const hasSteps = listAt(this.#interaction, 'steps').length > 0;
    return {
      ...this.#interaction,
      ...(hasSteps ? {} : { steps: undefined, outputs: items }),
      ...(this.#error === undefined ? {} : { error: this.#error }),
    };
  }
}

class StreamedItem {
  #item: JsonObject = {};
  #type: string | undefined;
  readonly #text: TextBuffer;
  readonly #arguments: TextBuffer;

  constructor(room: StreamRoom) {
    this.#text = new TextBuffer(room);
    this.#arguments = new TextBuffer(room);
  }

  open(item: JsonObject): void {
    this.#item = item;
    this.#type = toText(item.type);
    for (const part of listAt(item, 'content')) this.#text.push(stringAt(part, 'text'));
  }

  push(delta: JsonObject): void {
    switch (delta.type) {
      case 'text':
        this.#type ??= 'text';
        this.#text.push(delta.text);
        break;
      case 'thought_summary':
        this.#type ??= 'thought';
        this.#text.push(stringAt(delta.content, 'text'));
        break;
      case 'arguments_delta':
        this.#arguments.push(delta.arguments);
        break;
      case 'function_call':
        this.#type = 'function_call';
        this.#item = { ...this.#item, ...delta };
        break;
    }
  }

  finish(): JsonObject {
    const text = (toText(this.#item.text) ?? '') + this.#text;
    switch (this.#type) {
      case 'text':
      case 'model_output':
        return { type: 'text', text };
      case 'thought':
        return { ...this.#item, type: 'thought', summary: text === '' ? [] : [{ type: 'text', text }] };
      default:
        return this.#arguments.isEmpty
          ? this.#item
          : { ...this.#item, arguments: this.#arguments.toString() };
    }
  }
}
