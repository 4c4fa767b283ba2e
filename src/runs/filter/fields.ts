import { editDistance } from '../../base/index.ts';
import { RUN_STATUSES } from '../status.ts';

/** The fields of the filter language. Every table of the page and every command that lists runs uses this one list. */

/** What the values of a field are, and how they are compared. */
export type FilterKind =
  /** A name: contained in the field, case ignored; `*` matches anything. */
  | 'name'
  /** An id: equal, `*` matches anything. */
  | 'id'
  /** One of a few words. */
  | 'word'
  /** One of a few words that have an order, so that `>=` works. */
  | 'rank'
  | 'number'
  /** A number of seconds, written `300ms`, `2s`, `5m`, `1h`. */
  | 'duration'
  /** A time: an age such as `24h` or `7d`, or an ISO 8601 date or time. */
  | 'time'
  /** Free text. */
  | 'text';

export interface FilterField {
  readonly name: string;
  readonly kind: FilterKind;
  /** Shown in completions and help. */
  readonly hint: string;
  readonly words?: readonly string[];
  /** Other words with the same meaning. */
  readonly synonyms?: Readonly<Record<string, string>>;
}

export const FILTER_FIELDS: readonly FilterField[] = [
  { name: 'tool', kind: 'name', hint: 'a tool that was called' },
  { name: 'failed', kind: 'name', hint: 'a tool whose call failed' },
  {
    name: 'status',
    kind: 'word',
    hint: 'how the run ended',
    words: RUN_STATUSES,
    synonyms: { error: 'failed', fail: 'failed', waits: 'held', waiting: 'held', blocked: 'denied' },
  },
  {
    name: 'risk',
    kind: 'rank',
    hint: 'risk of an answer',
    words: ['none', 'low', 'medium', 'high'],
  },
  { name: 'server', kind: 'name', hint: 'an MCP server that was called' },
  { name: 'client', kind: 'name', hint: 'the MCP client that called' },
  { name: 'service', kind: 'name', hint: 'the program' },
  { name: 'model', kind: 'name', hint: 'a model that answered' },
  { name: 'user', kind: 'id', hint: 'on whose behalf' },
  { name: 'session', kind: 'id', hint: 'id of the session' },
  { name: 'conversation', kind: 'id', hint: 'id of the conversation' },
  { name: 'run', kind: 'id', hint: 'trace id, or its beginning' },
  { name: 'prompt', kind: 'id', hint: 'SHA-256 of a prompt: its "Same prompt" has it' },
  { name: 'label', kind: 'name', hint: 'a label that somebody gave' },
  { name: 'note', kind: 'name', hint: 'what somebody wrote' },
  { name: 'cost', kind: 'number', hint: 'US dollars' },
  { name: 'duration', kind: 'duration', hint: 'of the run: 300ms, 2s, 5m' },
  { name: 'tokens', kind: 'number', hint: 'input and output tokens' },
  { name: 'calls', kind: 'number', hint: 'number of tool calls' },
  {
    name: 'finding',
    kind: 'word',
    hint: 'what the trace says of the answer',
    words: ['contradicted', 'unsupported'],
  },
  {
    name: 'is',
    kind: 'word',
    hint: 'a property of the run',
    words: ['shadow', 'unpriced', 'rooted', 'handshake', 'noted'],
  },
  { name: 'since', kind: 'time', hint: 'started after: 24h, 7d, 2026-11-22' },
  { name: 'until', kind: 'time', hint: 'started before: 1h, 2026-11-22T10:00Z' },
  { name: 'text', kind: 'text', hint: 'in names, messages and attributes of any span' },
];

const BY_NAME: ReadonlyMap<string, FilterField> = new Map(FILTER_FIELDS.map((field) => [field.name, field]));

/** The field of this name, case ignored. */
export function findFilterField(name: string): FilterField | undefined {
  return BY_NAME.get(name.toLowerCase());
}

/** The field whose name is most like this one, if any is near. */
export function nearestField(name: string): string | undefined {
  const wanted = name.toLowerCase().slice(0, 20);
  const near = FILTER_FIELDS.map((field) => ({
    name: field.name,
    distance: editDistance(wanted, field.name),
  }))
    .sort((a, b) => a.distance - b.distance)
    .at(0);
  return near !== undefined && near.distance <= Math.max(1, Math.floor(near.name.length / 3))
    ? near.name
    : undefined;
}
