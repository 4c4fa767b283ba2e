import { isObject, type JsonObject, listAt, numberAt, objectAt, stringAt } from '../../json/index.ts';
import type { AnswerDelta, AnswerStream } from '../contract/index.ts';
import { StreamRoom, TextBuffer } from '../contract/index.ts';

/** Output items kept of a stream, and texts that are collected at all. */
const MAX_ITEMS = 4096;

/** The events that carry the response as it ended. */
const TERMINAL: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
]);

interface StreamedItem {
  /** As the item was added, or as it was done. */
  item: JsonObject;
  isDone: boolean;
  /** Texts of its parts while they arrive, by list and index; arguments of a call under `arguments`. */
  readonly texts: Map<string, TextBuffer>;
}

/** What a delta event adds to: a part of a list, or a field of the item. */
interface DeltaTarget {
  readonly field: string;
  /** Type of the part. */
  readonly type?: string;
  readonly says?: AnswerDelta['type'];
}

interface OpenText {
  readonly type: string;
  readonly item: unknown;
  readonly part: unknown;
  readonly paragraph: unknown;
  readonly text: TextBuffer;
}

const DELTAS: ReadonlyMap<string, DeltaTarget> = new Map<string, DeltaTarget>([
  ['response.output_text.delta', { field: 'content', type: 'output_text', says: 'text' }],
  ['response.refusal.delta', { field: 'content', type: 'refusal' }],
  ['response.reasoning_summary_text.delta', { field: 'summary', type: 'summary_text', says: 'reasoning' }],
  ['response.reasoning_text.delta', { field: 'content', type: 'reasoning_text', says: 'reasoning' }],
  ['response.function_call_arguments.delta', { field: 'arguments' }],
  ['response.custom_tool_call_input.delta', { field: 'input' }],
]);

/**
 * Assembles the events of a `response`. The last event repeats the whole response; the items that came before it are
 * what is left of a stream that was cut.
 */
export class ResponsesStream implements AnswerStream {
  readonly #room = new StreamRoom();
  readonly #items = new Map<number, StreamedItem>();
  #response: JsonObject | undefined;
  #error: JsonObject | undefined;
  #texts = 0;
  /** Where the last delta was added. */
  #open: OpenText | undefined;
  #isComplete = false;

  push(event: unknown, onDelta?: (delta: AnswerDelta) => void): void {
    const type = stringAt(event, 'type');
    if (type === undefined || !isObject(event)) return;
    const delta = DELTAS.get(type);
    if (delta !== undefined) {
      const text = this.#openText(event, type, delta)?.push(event.delta) ?? '';
      if (text !== '' && delta.says !== undefined) onDelta?.({ type: delta.says, text });
    } else if (type === 'response.output_item.added' || type === 'response.output_item.done') {
      this.#setItem(event, type === 'response.output_item.done');
    } else if (type === 'error') {
      this.#error = objectAt(event, 'error') ?? { code: event.code, message: event.message };
    } else {
      // created, queued, in_progress and the terminal events carry the response as it stands.
      this.#response = objectAt(event, 'response') ?? this.#response;
      this.#isComplete ||= TERMINAL.has(type);
    }
  }

  /** The text an event adds to, mostly that of the event before. */
  #openText(event: JsonObject, type: string, delta: DeltaTarget): TextBuffer | undefined {
    const { output_index: item, content_index: part, summary_index: paragraph } = event;
    const open = this.#open;
    if (open?.type === type && open.item === item && open.part === part && open.paragraph === paragraph) {
      return open.text;
    }
    const key = delta.type === undefined ? delta.field : `${delta.field} ${delta.type} ${partIndex(event)}`;
    const text = this.#textAt(event, key, delta.type);
    this.#open = text === undefined ? undefined : { type, item, part, paragraph, text };
    return text;
  }

  #setItem(event: JsonObject, isDone: boolean): void {
    this.#open = undefined;
    const item = objectAt(event, 'item');
    const index = numberAt(event, 'output_index') ?? this.#items.size;
    if (item === undefined) return;
    const known = this.#items.get(index);
    if (known !== undefined) {
      known.item = item;
      known.isDone = isDone;
      if (isDone) known.texts.clear();
    } else if (this.#items.size < MAX_ITEMS) this.#items.set(index, { item, isDone, texts: new Map() });
  }

  #textAt(event: JsonObject, key: string, partType: string | undefined): TextBuffer | undefined {
    const index = numberAt(event, 'output_index') ?? 0;
    let slot = this.#items.get(index);
    if (slot === undefined) {
      // Some servers announce no items.
      if (this.#items.size >= MAX_ITEMS) return undefined;
      const isReasoning = partType === 'summary_text' || partType === 'reasoning_text';
      const type = partType === undefined ? 'function_call' : isReasoning ? 'reasoning' : 'message';
      slot = { item: { type, id: event.item_id }, isDone: false, texts: new Map() };
      this.#items.set(index, slot);
    }
    if (slot.isDone) return undefined;
    let text = slot.texts.get(key);
    if (text === undefined && this.#texts < MAX_ITEMS) {
      this.#texts += 1;
      text = new TextBuffer(this.#room);
      slot.texts.set(key, text);
    }
    return text;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  whole(): JsonObject {
    const finished = listAt(this.#response, 'output');
    const error = objectAt(this.#response, 'error') ?? this.#error;
    return {
      object: 'response',
      ...this.#response,
      output: finished.length > 0 ? finished : this.#output(),
      ...(error === undefined ? {} : { error }),
    };
  }

  #output(): JsonObject[] {
    return [...this.#items].sort(([a], [b]) => a - b).map(([, slot]) => itemSoFar(slot));
  }
}

function partIndex(event: JsonObject): number {
  return numberAt(event, 'content_index') ?? numberAt(event, 'summary_index') ?? 0;
}

/** An item that is not done, with the texts that have come for it. */
function itemSoFar({ item, texts }: StreamedItem): JsonObject {
  if (texts.size === 0) return item;
  const parts: Record<string, JsonObject[]> = {};
  const fields: Record<string, string> = {};
  for (const [key, text] of texts) {
    const [field = '', type] = key.split(' ');
    if (type === undefined) fields[field] = text.toString();
    else {
      parts[field] ??= [];
      parts[field].push({ type, [type === 'refusal' ? 'refusal' : 'text']: text.toString() });
    }
  }
  return { ...item, ...fields, ...parts };
}
