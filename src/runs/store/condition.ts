import { cleanText } from '../../postgres/index.ts';
import { type FilterTerm, findAmount, findTime, readDuration } from '../filter/index.ts';
import { conditionOfStatus, RUN_STATUSES } from '../status.ts';

/** A condition in SQL, with values as parameters only. */
export interface Condition {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Collects parameters in the order of their use. */
class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/**
 * The condition that a run (`r`, a row of `mcp_runs`) meets the terms of a filter.
 *
 * @param first parameters that come before those of the filter.
 * @param nowMs the time that ages count from.
 */
export function toCondition(
  terms: readonly FilterTerm[],
  nowMs: number,
  first: readonly unknown[] = [],
): Condition {
  const parameters = new Parameters();
  for (const value of first) parameters.add(value);
  const parts = terms.map((term) => {
    const any = term.values.map((value) => single(term, value, parameters, nowMs)).join(' OR ');
    return `${term.isNegated ? 'NOT ' : ''}coalesce((${any}), false)`;
  });
  return { text: parts.length === 0 ? 'true' : parts.join(' AND '), values: parameters.values };
}

/** Spans that may hold what the user said: the root, and model calls. */
export const MAY_SPEAK = `(t.parent_span_id IS NULL OR t.cost_source IS NOT NULL OR t.prompt_tokens IS NOT NULL
  OR t.operation IN ('chat', 'invoke_agent'))`;

const NAME_COLUMNS: Readonly<Record<string, string>> = {
  client: 'r.client_name',
  service: 'r.service',
  note: 'r.note',
};
const LIST_COLUMNS: Readonly<Record<string, string>> = {
  tool: 'r.tools',
  failed: 'r.failed_tools',
  server: 'r.servers',
  model: 'r.models',
  label: 'r.labels',
};
const ID_COLUMNS: Readonly<Record<string, string>> = {
  user: 'r.user_id',
  session: 'r.session_id',
  conversation: 'r.conversation_id',
};
const NUMBERS: Readonly<Record<string, string>> = {
  cost: 'r.cost_usd',
  tokens: '(r.prompt_tokens + r.completion_tokens)',
  calls: 'r.tool_calls',
  duration: 'extract(epoch FROM r.ended_at - r.started_at)',
};
const RANKS = ['none', 'low', 'medium', 'high'];

/** Conditions of words, by field and word. */
const WORDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(RUN_STATUSES.map((status) => [`status:${status}`, conditionOfStatus(status)])),
  'finding:contradicted': 'r.contradicted',
  'finding:unsupported': 'r.unsupported',
  'is:shadow': 'r.is_shadow',
  'is:unpriced': 'r.unpriced > 0',
  'is:rooted': 'r.has_root',
  'is:handshake': 'r.is_handshake',
  'is:noted': 'r.noted_at IS NOT NULL',
};

function single(
  { field, operator }: FilterTerm,
  value: string,
  parameters: Parameters,
  nowMs: number,
): string {
  const { name } = field;
  const compare = operator === ':' ? '=' : operator;
  switch (field.kind) {
    case 'word':
      return WORDS[`${name}:${value}`] ?? 'false';
    case 'rank':
      return `r.risk ${compare} ${parameters.add(RANKS.indexOf(value))}::integer`;
    case 'number':
      return `${NUMBERS[name]} ${compare} ${parameters.add(findAmount(value))}::double precision`;
    case 'duration':
      return `${NUMBERS[name]} ${compare} ${parameters.add(readDuration(value))}::double precision`;
    case 'time': {
      const time = `${parameters.add(new Date(findTime(value, nowMs) ?? nowMs).toISOString())}::timestamptz`;
      return `r.started_at ${name === 'since' ? '>=' : '<'} ${time}`;
    }
    case 'id':
      if (name === 'run')
        return `replace(r.trace_id::text, '-', '') LIKE ${parameters.add(`${toHex(value)}%`)}`;
      if (name === 'prompt')
        return `r.trace_id IN (SELECT t.trace_id FROM mcp_traces t WHERE t.prompt_hash = ${parameters.add(cleanText(value))})`;
      return `${ID_COLUMNS[name]} LIKE ${parameters.add(pattern(value))}`;
    case 'name': {
      const like = `ILIKE ${parameters.add(`%${pattern(value)}%`)}`;
      const inList = (list: string) =>
        `EXISTS (SELECT 1 FROM unnest(${list}) AS u (item) WHERE item ${like})`;
      const list = LIST_COLUMNS[name];
      if (list !== undefined) return inList(list);
      if (name !== 'name') return `${NAME_COLUMNS[name]} ${like}`;
      // A run is named by its user's words, its service and its tools, or its root.
      return `(r.name ${like} OR r.service ${like} OR ${inList('r.tools')} OR EXISTS (SELECT 1 FROM mcp_traces t
        WHERE t.trace_id = r.trace_id AND ${MAY_SPEAK} AND t.attributes::text ${quickly(value)} ${like}))`;
    }
    case 'text': {
      const like = `ILIKE ${parameters.add(`%${pattern(value)}%`)}`;
      return `EXISTS (SELECT 1 FROM mcp_traces t WHERE t.trace_id = r.trace_id AND (t.span_name ${like}
        OR t.status_message ${like} OR t.attributes::text ${quickly(value)} ${like}))`;
    }
  }
}

/** Texts are compared in half of the time where only ASCII has two cases. */
function quickly(value: string): string {
  return [...value].every((letter) => letter < '\u0080') ? 'COLLATE "C"' : '';
}

/** A LIKE pattern: `*` matches anything, other characters match themselves. */
function pattern(value: string): string {
  return cleanText(value)
    .replace(/[\\%_]/gu, '\\$&')
    .replaceAll('*', '%');
}

/** The hex digits of a trace id or its beginning; something that no id has for other texts. */
function toHex(value: string): string {
  const hex = value.replaceAll('-', '').toLowerCase();
  return /^[0-9a-f]{1,32}$/u.test(hex) ? hex : 'none';
}
