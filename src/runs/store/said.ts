import { ownTurn, semconv, sliced } from '../../base/index.ts';
import {
  answerText,
  conversationText,
  type Message,
  type MessagePart,
  type MessageRole,
  readOfferedTools,
  readSpanMessages,
  type SpanView,
  toolOutcome,
} from '../../interaction/index.ts';
import { isObject, parseContainer } from '../../json/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { ask } from './run-row.ts';
import type { RunSpan } from './spans.ts';

/** Longest texts that are sent with a run: what is said is read in place, what tools take and give is opened. */
const MAX_SAID_CHARS = 65_536;
const MAX_PAYLOAD_CHARS = 4096;
/** All texts of a run together; beyond it each is cut to its beginning. */
const MAX_ALL_CHARS = 4_000_000;
const BEGINNING_CHARS = 300;
const MAX_SPANS = 500;
/** Of a run with more, those that went wrong and its end have their texts first. */
const MAX_TROUBLED = 200;
const TAIL_SPANS = 50;
/** Spans of one statement: an embedded database holds the event loop while it works on one. */
const PART_SPANS = 50;
/** One text on its own, as somebody asks for it. */
const MAX_WHOLE_CHARS = 16_000_000;
/** Parts of the messages of one model call, and characters of each. */
const MAX_PARTS = 500;
const MAX_PART_CHARS = 65_536;

const TEXTS = ['prompt', 'answer', 'arguments', 'result'] as const;
type TextName = (typeof TEXTS)[number];

/** What a span holds of a conversation; absent where content was not captured. */
export interface Said {
  readonly spanId: string;
  readonly prompt?: string | undefined;
  readonly answer?: string | undefined;
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
  /** Whole lengths, in characters, of the texts that are cut. */
  readonly cut?: Readonly<Partial<Record<TextName, number>>> | undefined;
  /** A model call as the model saw it, in order; where one span is asked for. */
  readonly messages?: readonly SaidPart[] | undefined;
  /** The tools that it was offered. */
  readonly tools?: readonly SaidPart[] | undefined;
  /** The images of its messages, or of the result of a tool, as data URLs; where one span is asked for. */
  readonly images?: readonly string[] | undefined;
  /** Addresses of others, which nobody loads. */
  readonly imagesElsewhere?: readonly string[] | undefined;
}

/** A part of what a model was told or said. */
export interface SaidPart {
  /** `output` is what the model answered, `offered` a tool that it could call. */
  readonly role: MessageRole | 'output' | 'offered';
  readonly kind: MessagePart['type'];
  /** The tool that is called, answers or is offered. */
  readonly name?: string | undefined;
  readonly text: string;
  /** Its whole length in characters, where it is cut. */
  readonly chars?: number | undefined;
}

const COLUMNS = `right(replace(span_id::text, '-', ''), 16) AS id, span_name AS name, attributes, events, scope`;

/** The texts of a run's model and tool calls, those that were stored. @throws the database's errors. */
export async function readSaid(
  db: Queryable,
  id: string,
  spans: readonly RunSpan[],
): Promise<readonly Said[]> {
  const speaking = chooseSpeaking(spans.filter(isSpeaking));
  const turn = sliced();
  let left = MAX_ALL_CHARS;
  const list: Said[] = [];
  for (let i = 0; i < speaking.length; i += PART_SPANS) {
    const ids = speaking.slice(i, i + PART_SPANS).map((span) => span.id);
    const rows = await ask(
      db,
      `SELECT ${COLUMNS} FROM mcp_traces WHERE trace_id = $1::uuid AND span_id = ANY ($2::text[]::uuid[])`,
      [id, ids.map(spanUuid)],
    );
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const row of ids.map((one) => found.get(one))) {
      if (row === undefined) continue;
      const toLimit = (name: TextName) => {
        if (left <= 0) return BEGINNING_CHARS;
        return name === 'prompt' || name === 'answer' ? MAX_SAID_CHARS : MAX_PAYLOAD_CHARS;
      };
      const one = said(row, toLimit);
      left -= TEXTS.reduce((sum, name) => sum + (one[name]?.length ?? 0), 0);
      if (TEXTS.some((name) => one[name] !== undefined)) list.push(one);
      await turn();
    }
    await ownTurn();
  }
  const places = new Map(spans.map((span, i) => [span.id, i]));
  return list.sort((a, b) => (places.get(a.spanId) ?? 0) - (places.get(b.spanId) ?? 0));
}

/** The spans whose texts are read: what went wrong, the last answer and the end, then from the beginning. */
function chooseSpeaking(speaking: readonly RunSpan[]): readonly RunSpan[] {
  if (speaking.length <= MAX_SPANS) return speaking;
  const last = speaking.findLast(({ tool }) => tool === null);
  const troubled = speaking.filter(({ status }) => status !== 'ok');
  const first = [...(last === undefined ? [] : [last]), ...troubled.slice(0, MAX_TROUBLED)];
  return [...new Set([...first, ...speaking.slice(-TAIL_SPANS), ...speaking])].slice(0, MAX_SPANS);
}

/** Whether a span may hold a text of the conversation. */
function isSpeaking({ promptTokens, costSource, tool, operation }: RunSpan): boolean {
  const isCall = promptTokens !== null || costSource !== null || tool !== null;
  return isCall || operation === 'invoke_agent' || operation === 'chat';
}

const spanUuid = (id: string) => id.padStart(32, '0');

/** The whole texts of one span; undefined when there is none. @throws the database's errors. */
export async function readWholeTexts(
  db: Queryable,
  traceId: string,
  spanId: string,
): Promise<Said | undefined> {
  const rows = await ask(
    db,
    `SELECT ${COLUMNS} FROM mcp_traces WHERE trace_id = $1::uuid AND span_id = $2::uuid`,
    [traceId, spanUuid(spanId)],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { input = [], output = [] } = readSpanMessages(toView(row));
  const attributes = (row.attributes ?? {}) as Readonly<Record<string, unknown>>;
  const tools = readOfferedTools(
    attributes[semconv.ATTR_GEN_AI_TOOL_DEFINITIONS] ?? attributes['ai.prompt.tools'],
  );
  const messages = [
    ...input.flatMap(({ role, parts }) => parts.map((part) => toPart(role, part))),
    ...output.flatMap(({ parts }) => parts.map((part) => toPart('output', part))),
  ].filter(({ kind, text }) => kind !== 'text' || text !== '');
  return {
    ...said(row, () => MAX_WHOLE_CHARS),
    ...findImages(attributes),
    // The system's words and what was said last matter most.
    ...(messages.length > 0 && {
      messages: [...messages.slice(0, 1), ...messages.slice(1).slice(-MAX_PARTS)],
    }),
    ...(tools.length > 0 && {
      tools: tools.slice(0, MAX_PARTS).map(({ name, source }) => ({
        ...cutPart(JSON.stringify(source)),
        role: 'offered',
        kind: 'text',
        name,
      })),
    }),
  };
}

/** Images of one span, and characters of all of them. */
const MAX_IMAGES = 20;
const MAX_IMAGE_CHARS = 8_000_000;
/** What is looked at for them. */
const MAX_VALUES = 50_000;
const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/u;
const DATA_URL = /^data:image\/(?:png|jpeg|gif|webp);base64,(?<base64>[A-Za-z0-9+/]+={0,2})$/u;
const IMAGE_KIND = /^(?:image|image_url|input_image)$/u;
const ELSEWHERE = /^https?:\/\//u;
const MAX_URL_CHARS = 500;

function isDataUrl(text: string): boolean {
  const base64 = DATA_URL.exec(text)?.groups?.base64;
  return base64 !== undefined && base64.replace(/=+$/u, '').length % 4 !== 1;
}

/**
 * Images that are in the attributes themselves: `blob` parts of the semantic conventions, and those of OpenAI, Anthropic,
 * Gemini, the AI SDK and MCP, all of which hold a media type beside base64, or a data URL. Of those elsewhere the addresses.
 */
function findImages(attributes: Readonly<Record<string, unknown>>): Pick<Said, 'images' | 'imagesElsewhere'> {
  const found = new Set<string>();
  const elsewhere = new Set<string>();
  const open: unknown[] = Object.values(attributes).flatMap((value) =>
    typeof value === 'string' && value.length < MAX_IMAGE_CHARS && value.includes('image')
      ? [parseContainer(value)]
      : [],
  );
  let chars = 0;
  for (let i = 0; i < open.length && i < MAX_VALUES && found.size < MAX_IMAGES; i += 1) {
    const value = open[i];
    if (typeof value === 'string') {
      if (!value.startsWith('data:image/') || chars + value.length > MAX_IMAGE_CHARS || !isDataUrl(value))
        continue;
      chars += value.length;
      found.add(value);
    } else if (Array.isArray(value)) open.push(...value.slice(0, MAX_VALUES));
    else if (isObject(value)) {
      const type = value.mime_type ?? value.mimeType ?? value.media_type ?? value.mediaType;
      const isImage = typeof type === 'string' && IMAGE_TYPE.test(type);
      const isNamed = isImage || [value.type, value.modality].some((kind) => IMAGE_KIND.test(String(kind)));
      for (const one of Object.values(value).slice(0, MAX_VALUES)) {
        const url = isObject(one) ? one.url : one;
        if (isNamed && typeof url === 'string' && ELSEWHERE.test(url) && elsewhere.size < MAX_IMAGES)
          elsewhere.add(url.slice(0, MAX_URL_CHARS));
        const isBare = isImage && typeof one === 'string' && one.length > 64 && !one.startsWith('data:');
        open.push(isBare ? `data:${type};base64,${one.replace(/-/gu, '+').replace(/_/gu, '/')}` : one);
      }
    }
  }
  return {
    ...(found.size > 0 && { images: [...found] }),
    ...(elsewhere.size > 0 && { imagesElsewhere: [...elsewhere] }),
  };
}

function toPart(role: SaidPart['role'], part: MessagePart): SaidPart {
  const kind = part.type;
  if (kind === 'text' || kind === 'reasoning') return { role, kind, ...cutPart(part.content) };
  if (kind === 'tool_call') return { role, kind, name: part.name, ...cutPart(toText(part.arguments)) };
  return { role, kind, name: part.name, ...cutPart(toolOutcome(part).text) };
}

function cutPart(text: string): Pick<SaidPart, 'text' | 'chars'> {
  return text.length > MAX_PART_CHARS
    ? { text: text.slice(0, MAX_PART_CHARS), chars: text.length }
    : { text };
}

const toText = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function said(row: Record<string, unknown>, limitOf: (name: TextName) => number): Said {
  const values = readTexts(row);
  const texts: Partial<Record<TextName, string>> = {};
  const cut: Partial<Record<TextName, number>> = {};
  for (const name of TEXTS) {
    const text = values[name];
    if (text === undefined) continue;
    const limit = limitOf(name);
    texts[name] = text.length > limit ? text.slice(0, limit) : text;
    if (text.length > limit) cut[name] = text.length;
  }
  return { spanId: String(row.id), ...texts, ...(Object.keys(cut).length > 0 && { cut }) };
}

/** The texts of a span: a row with its `name`, `scope`, `attributes` and `events`. */
export function readTexts(row: Readonly<Record<string, unknown>>): Partial<Record<TextName, string>> {
  const attributes = (row.attributes ?? {}) as Record<string, unknown>;
  const { input, output, toolArguments, toolResult } = readSpanMessages(toView(row));
  const values: Readonly<Record<TextName, unknown>> = {
    prompt: input === undefined ? undefined : (lastUserText(input) ?? conversationText(input).prompt),
    answer: output === undefined ? undefined : answerText(output),
    arguments: toolArguments ?? attributes[semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS],
    result: attributes[semconv.ATTR_GEN_AI_TOOL_CALL_RESULT] ?? toolResult,
  };
  const texts = TEXTS.flatMap((name): [TextName, string][] => {
    const value = values[name];
    return value === undefined || value === null || value === '' ? [] : [[name, toText(value)]];
  });
  return Object.fromEntries(texts);
}

function toView({ name, scope, attributes, events }: Readonly<Record<string, unknown>>): SpanView {
  return {
    name: String(name),
    attributes: attributes ?? {},
    events: Array.isArray(events) ? events : [],
    ...(typeof scope === 'string' && { instrumentationScope: { name: scope } }),
  } as unknown as SpanView;
}

function lastUserText(messages: readonly Message[]): string | undefined {
  const last = messages.findLast(({ role }) => role === 'user');
  return last === undefined ? undefined : conversationText([last]).prompt;
}
