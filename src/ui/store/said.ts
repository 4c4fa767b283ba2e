import { conversationText, type Message, parseMessages, readInteraction } from '../../interaction/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { ask } from './runs.ts';

/** Longest text that is sent to the page, and the most spans whose texts are. */
const MAX_CHARS = 65_536;
const MAX_SPANS = 500;

/** What a span holds of a conversation; absent where content was not captured. */
export interface Said {
  readonly spanId: string;
  readonly prompt?: string | undefined;
  readonly answer?: string | undefined;
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
}

/** The texts of a run's model and tool calls, those that were stored. @throws the database's errors. */
export async function readSaid(db: Queryable, id: string): Promise<readonly Said[]> {
  const rows = await ask(
    db,
    `SELECT right(replace(span_id::text, '-', ''), 16) AS id, span_name AS name, attributes, events, scope
    FROM mcp_traces WHERE trace_id = $1::uuid AND (prompt_tokens IS NOT NULL OR cost_source IS NOT NULL OR tool_name IS NOT NULL
      OR operation IN ('invoke_agent', 'chat'))
    ORDER BY start_time LIMIT ${MAX_SPANS}`,
    [id],
  );
  return rows.map(said).filter((one) => Object.values(one).some((value, i) => i > 0 && value !== undefined));
}

function said(row: Record<string, unknown>): Said {
  const attributes = (row.attributes ?? {}) as Record<string, unknown>;
  const read = readInteraction({
    name: String(row.name),
    attributes,
    events: Array.isArray(row.events) ? row.events : [],
    ...(typeof row.scope === 'string' && { instrumentationScope: { name: row.scope } }),
  } as never);
  const text = (value: unknown) => {
    if (value === undefined || value === null || value === '') return undefined;
    const shown = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
    return shown.length > MAX_CHARS
      ? `${shown.slice(0, MAX_CHARS)}… (${shown.length - MAX_CHARS} more)`
      : shown;
  };
  const messages = parseMessages(parsed(attributes['gen_ai.input.messages']));
  return {
    spanId: String(row.id),
    prompt: text(lastUserText(messages) ?? read.prompt),
    answer: text(read.answer),
    arguments: text(read.toolArguments ?? attributes['gen_ai.tool.call.arguments']),
    result: text(attributes['gen_ai.tool.call.result']),
  };
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
