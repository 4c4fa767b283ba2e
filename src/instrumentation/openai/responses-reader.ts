import type { Attributes } from '@opentelemetry/api';
import {
  type OutputMessage,
  readOpenAiUsage,
  readReportedCost,
  responsesFinishReason,
} from '../../interaction/index.ts';
import { type JsonObject, listAt, objectAt, stringAt } from '../../json/index.ts';
import {
  firstCode,
  type ModelResponse,
  outputMessage,
  type ResponseReader,
  StreamRoom,
  TextBuffer,
} from '../shared/index.ts';
import * as own from '../shared/semconv.ts';

/** Output items kept from a stream that was cut; a whole response brings its own list. */
const MAX_ITEMS = 4096;

/** Reads the Responses API: a `response` object, or the events of its stream, which repeat that object. */
export class ResponsesReader implements ResponseReader {
  #response: JsonObject | undefined;
  #eventError: string | undefined;
  readonly #items: unknown[] = [];
  #unfinishedText = new TextBuffer(new StreamRoom());

  whole(value: unknown): void {
    this.#response = typeof value === 'object' && value !== null ? (value as JsonObject) : undefined;
  }

  chunk(value: unknown): void {
    const type = stringAt(value, 'type');
    if (type === 'response.output_text.delta' || type === 'response.refusal.delta') {
      this.#unfinishedText.push(stringAt(value, 'delta'));
    } else if (type === 'response.output_item.done') {
      const item = objectAt(value, 'item');
      if (item !== undefined && this.#items.length < MAX_ITEMS) this.#items.push(item);
      if (stringAt(item, 'type') === 'message') this.#unfinishedText = new TextBuffer(new StreamRoom());
    } else if (type === 'error') {
      this.#eventError = firstCode(stringAt(value, 'code')) ?? 'error';
    } else {
      // created, queued, in_progress, completed, incomplete and failed all carry the response as it stands.
      this.#response = objectAt(value, 'response') ?? this.#response;
    }
  }

  result(): ModelResponse {
    const response = this.#response;
    const status = stringAt(response, 'status');
    const calls = this.#output().filter(isToolCall).length;
    const reason = responsesFinishReason(response ?? {}, calls > 0);
    const attributes: Attributes = {};
    const tier = stringAt(response, 'service_tier');
    if (tier !== undefined) attributes[own.ATTR_OPENAI_RESPONSE_SERVICE_TIER] = tier;
    const failure = objectAt(response, 'error');
    const failed = status === 'failed' || failure !== undefined;
    return {
      id: stringAt(response, 'id'),
      model: stringAt(response, 'model'),
      finishReasons: reason === undefined ? [] : [reason],
      usage: readOpenAiUsage(response?.usage),
      costUsd: readReportedCost(response?.usage),
      messages: () => this.#messages(reason),
      toolCallCount: calls,
      attributes,
      errorType: failed ? (firstCode(stringAt(failure, 'code')) ?? 'failed') : this.#eventError,
    };
  }

  #messages(reason: string | undefined): OutputMessage[] {
    const items = this.#output();
    return items.length === 0 ? [] : [outputMessage(items, reason)];
  }

  /** The items of the whole response; of a stream that was left early, those that came. */
  #output(): readonly unknown[] {
    const finished = listAt(this.#response, 'output');
    if (finished.length > 0) return finished;
    return this.#unfinishedText.isEmpty
      ? this.#items
      : [...this.#items, { role: 'assistant', content: this.#unfinishedText.toString() }];
  }
}

/** Calls the application is to make; searches and MCP calls are made by OpenAI. */
function isToolCall(item: unknown): boolean {
  const type = stringAt(item, 'type');
  return type === 'function_call' || type === 'custom_tool_call';
}
