import { ownTurn, semconv, sliced } from '../../base/index.ts';
import { conversationText, type Message, parseMessages, readInteraction } from '../../interaction/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { ask } from './runs.ts';
import type { RunSpan } from './spans.ts';

/** Longest texts that are sent with a run: what is said is read in place, what tools take and give is opened. */
const MAX_SAID_CHARS = 65_536;
const MAX_PAYLOAD_CHARS = 4096;
/** All texts of a run together; beyond it each is cut to its beginning. */
const MAX_ALL_CHARS = 4_000_000;
const BEGINNING_CHARS = 300;
const MAX_SPANS = 500;
/** Spans of one statement: an embedded database holds the event loop while it works on one. */
const PART_SPANS = 50;
/** One text on its own, as somebody asks for it. */
const MAX_WHOLE_CHARS = 16_000_000;

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
}

const COLUMNS = `right(replace(span_id::text, '-', ''), 16) AS id, span_name AS name, attributes, events, scope`;

/** The texts of a run's model and tool calls, those that were stored. @throws the database's errors. */
export async function readSaid(
  db: Queryable,
  id: string,
  spans: readonly RunSpan[],
): Promise<readonly Said[]> {
  const speaking = spans.filter(isSpeaking).slice(0, MAX_SPANS);
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
  return list;
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
  return rows[0] === undefined ? undefined : said(rows[0], () => MAX_WHOLE_CHARS);
}

function said(row: Record<string, unknown>, limitOf: (name: TextName) => number): Said {
  const attributes = (row.attributes ?? {}) as Record<string, unknown>;
  const read = readInteraction({
    name: String(row.name),
    attributes,
    events: Array.isArray(row.events) ? row.events : [],
    ...(typeof row.scope === 'string' && { instrumentationScope: { name: row.scope } }),
  } as never);
  const messages = parseMessages(parsed(attributes[semconv.ATTR_GEN_AI_INPUT_MESSAGES]));
  const values: Readonly<Record<TextName, unknown>> = {
    prompt: lastUserText(messages) ?? read.prompt,
    answer: read.answer,
    arguments: read.toolArguments ?? attributes[semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS],
    result: attributes[semconv.ATTR_GEN_AI_TOOL_CALL_RESULT],
  };
  const texts: Partial<Record<TextName, string>> = {};
  const cut: Partial<Record<TextName, number>> = {};
  for (const name of TEXTS) {
    const value = values[name];
    if (value === undefined || value === null || value === '') continue;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const limit = limitOf(name);
    texts[name] = text.length > limit ? text.slice(0, limit) : text;
    if (text.length > limit) cut[name] = text.length;
  }
  return { spanId: String(row.id), ...texts, ...(Object.keys(cut).length > 0 && { cut }) };
}

/** The text of the last message of the user. */
function lastUserText(messages: readonly Message[]): string | undefined {
  const last = messages.findLast(({ role }) => role === 'user');
  return last === undefined ? undefined : conversationText([last]).prompt;
}

/** Messages are stored as JSON text, since attributes of SDK 2 hold no objects. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
