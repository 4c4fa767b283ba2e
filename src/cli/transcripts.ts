/**
 * What coding agents did before anything was set up: their transcripts, as the events that the same agents send. A run that
 * an agent has sent too keeps its rows where the ids are the same; reading a transcript again changes nothing.
 */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { errorMessage, readLines, semconv } from '../base/index.ts';
import { addUp, isObject, type JsonObject, parseOrKeep } from '../json/index.ts';
import type { Queryable } from '../postgres/index.ts';
import {
  ClaudeReader,
  CodexReader,
  GeminiReader,
  KnownIds,
  type TranscriptEvent,
  type TranscriptReader,
  textIn,
} from './transcript-readers.ts';

const MAX_FILES = 20_000;
const MAX_FILE_BYTES = 512 * 1024 * 1024;
const MAX_DEPTH = 6;
/** Longer lines, such as those with large images, are not parsed: others wait for that. */
const MAX_LINE = 8 * 1024 * 1024;
/** Events of one request, and the characters of their texts. */
const BATCH = 500;
const BATCH_CHARS = 1024 * 1024;
/** Longer texts of prompts are cut. */
const MAX_TEXT = 64 * 1024;
const ATTEMPTS = 5;
const RETRY_MS = 1000;
/** Clocks of machines differ. */
const MAX_AHEAD_MS = 86_400_000;

interface Agent {
  readonly name: string;
  readonly folder: (env: Environment) => string;
  readonly reader: (withText: boolean, ids: KnownIds) => TranscriptReader;
}

type Environment = Readonly<Record<string, string | undefined>>;

const toHome = (env: Environment) => env.HOME || homedir();

const AGENTS: readonly Agent[] = [
  {
    name: 'claude-code',
    folder: (env) => join(env.CLAUDE_CONFIG_DIR || join(toHome(env), '.claude'), 'projects'),
    reader: (withText, ids) => new ClaudeReader(withText, ids),
  },
  {
    name: 'codex',
    folder: (env) => join(env.CODEX_HOME || join(toHome(env), '.codex'), 'sessions'),
    reader: (withText, ids) => new CodexReader(withText, ids),
  },
  {
    name: 'gemini-cli',
    folder: (env) => join(env.GEMINI_CLI_HOME || toHome(env), '.gemini', 'tmp'),
    reader: (withText, ids) => new GeminiReader(withText, ids),
  },
];

/** Events without the id of a call, and what their rows are. */
const WITHOUT_ID: ReadonlyMap<string, Pick<StoredCall, 'operation' | 'is_root'>> = new Map([
  ['codex.sse_event', { operation: 'chat', is_root: false }],
  ['codex.user_prompt', { operation: 'invoke_agent', is_root: false }],
  ['gemini_cli.api_response', { operation: 'chat', is_root: false }],
  ['gemini_cli.tool_call', { operation: 'execute_tool', is_root: false }],
  ['gemini_cli.user_prompt', { operation: 'invoke_agent', is_root: true }],
]);
/** An agent sends a call and writes it down at nearly the same time. */
const MAX_APART_MS = 2000;
const MAX_CALLS = 20_000;

interface StoredCall {
  readonly operation: string;
  readonly is_root: boolean;
  readonly at_ms: number;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
}

/** Finds the calls of a session that the agent has sent itself, one for one, where no id tells that they are the same. */
class StoredCalls {
  readonly #db: Queryable;
  #session: unknown;
  #calls: StoredCall[] = [];

  constructor(db: Queryable) {
    this.#db = db;
  }

  async take({ name, atMs, attributes }: TranscriptEvent): Promise<boolean> {
    const row = WITHOUT_ID.get(name);
    if (row === undefined) return false;
    const session = attributes['conversation.id'] ?? attributes['session.id'];
    if (this.#session !== session) {
      this.#session = session;
      this.#calls = await this.#read();
    }
    const count = (key: string) => (typeof attributes[key] === 'number' ? attributes[key] : undefined);
    const input = addUp(count('input_token_count'), count('tool_token_count')) ?? null;
    const output = addUp(count('output_token_count'), count('thoughts_token_count')) ?? null;
    const [nearest] = this.#calls
      .filter(
        (call) =>
          call.operation === row.operation &&
          call.is_root === row.is_root &&
          Math.abs(call.at_ms - atMs) <= MAX_APART_MS &&
          (row.operation !== 'chat' || (call.prompt_tokens === input && call.completion_tokens === output)),
      )
      .sort((a, b) => Math.abs(a.at_ms - atMs) - Math.abs(b.at_ms - atMs));
    if (nearest !== undefined) this.#calls.splice(this.#calls.indexOf(nearest), 1);
    return nearest !== undefined;
  }

  async #read(): Promise<StoredCall[]> {
    const { rows } = await this.#db.query(
      `SELECT operation, parent_span_id IS NULL AS is_root, prompt_tokens, completion_tokens,
         (extract(epoch FROM CASE WHEN parent_span_id IS NULL THEN start_time ELSE end_time END) * 1000)::float8 AS at_ms
       FROM mcp_traces WHERE conversation_id = $1 AND scope = 'mcp-observatory/agent-events'
         AND operation = ANY ($2) LIMIT ${MAX_CALLS}`,
      [this.#session ?? null, [...WITHOUT_ID.values()].map(({ operation }) => operation)],
    );
    return rows as unknown as StoredCall[];
  }
}

/** What was read, by agent. */
export interface ImportedTranscripts {
  readonly agents: readonly { readonly name: string; readonly files: number; readonly events: number }[];
  /** Why files were left out, the first of each reason. */
  readonly problems: readonly string[];
}

/**
 * Sends the events of transcripts that were written since a time to an OTLP receiver.
 * @param options.withText also the texts of prompts. Those of answers, arguments and results are never sent.
 */
export async function importTranscripts(options: {
  readonly env: Environment;
  readonly httpUrl: string;
  /** Where the receiver stores what it is sent. */
  readonly db: Queryable;
  readonly sinceMs: number;
  readonly withText: boolean;
  readonly signal: AbortSignal;
}): Promise<ImportedTranscripts> {
  const problems = new Set<string>();
  const agents: { name: string; files: number; events: number }[] = [];
  for (const agent of AGENTS) {
    const counted = { name: agent.name, files: 0, events: 0 };
    const ids = new KnownIds();
    for (const path of await listFiles(agent.folder(options.env), options.sinceMs)) {
      if (options.signal.aborted) break;
      counted.files += 1;
      try {
        counted.events += await importFile(agent.name, agent.reader(options.withText, ids), path, options);
      } catch (error) {
        problems.add(`${agent.name}: ${errorMessage(error)}`);
      }
    }
    if (counted.events > 0) agents.push(counted);
  }
  return { agents, problems: [...problems].slice(0, 5) };
}

/** The oldest first: of what a session has copied from another, the other's is kept. */
async function listFiles(folder: string, sinceMs: number): Promise<readonly string[]> {
  const files: { readonly path: string; readonly bornMs: number }[] = [];
  for await (const path of filesIn(folder)) {
    // It may be gone by now.
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || found.mtimeMs < sinceMs || found.size > MAX_FILE_BYTES) continue;
    files.push({ path, bornMs: found.birthtimeMs });
    if (files.length >= MAX_FILES) break;
  }
  files.sort((a, b) => a.bornMs - b.bornMs || (a.path < b.path ? -1 : 1));
  return files.map(({ path }) => path);
}

async function* filesIn(folder: string, depth = 0): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < MAX_DEPTH) yield* filesIn(path, depth + 1);
    if (entry.isFile() && entry.name.endsWith('.jsonl')) yield path;
  }
}

async function importFile(
  agent: string,
  reader: TranscriptReader,
  file: string,
  { httpUrl, db, sinceMs, signal }: Parameters<typeof importTranscripts>[0],
): Promise<number> {
  const stored = new StoredCalls(db);
  let batch: TranscriptEvent[] = [];
  let chars = 0;
  let sent = 0;
  const add = async (events: readonly TranscriptEvent[]) => {
    for (const event of events) {
      if (event.atMs < sinceMs || (await stored.take(event))) continue;
      const { prompt } = event.attributes;
      const text = typeof prompt === 'string' ? prompt.slice(0, MAX_TEXT) : undefined;
      batch.push(
        text === undefined ? event : { ...event, attributes: { ...event.attributes, prompt: text } },
      );
      chars += text?.length ?? 0;
    }
  };
  const send = async () => {
    if (batch.length > 0) await post(`${httpUrl}/v1/logs`, toRequest(agent, batch), signal);
    sent += batch.length;
    batch = [];
    chars = 0;
  };
  for await (const line of readLines(createReadStream(file, { signal }), MAX_LINE)) {
    const parsed = typeof line === 'string' ? parseLine(line) : undefined;
    const atMs = Date.parse(textIn(parsed, 'timestamp') ?? textIn(parsed, 'startTime') ?? '');
    // A time that no receiver takes would refuse all that is sent with it.
    if (parsed === undefined || !(atMs <= Date.now() + MAX_AHEAD_MS)) continue;
    await add(reader.read(parsed, atMs));
    if (batch.length >= BATCH || chars >= BATCH_CHARS) await send();
  }
  await add(reader.end());
  await send();
  return sent;
}

function parseLine(line: string): JsonObject | undefined {
  // The last line of a session under way may be half a line.
  const value = parseOrKeep(line);
  return isObject(value) ? value : undefined;
}

function toRequest(service: string, events: readonly TranscriptEvent[]): object {
  const readAnyValue = (value: unknown) =>
    typeof value === 'string'
      ? { stringValue: value }
      : typeof value === 'boolean'
        ? { boolValue: value }
        : { doubleValue: value };
  const toAttributes = (attributes: object) =>
    Object.entries(attributes).flatMap(([key, value]) =>
      value === undefined ? [] : [{ key, value: readAnyValue(value) }],
    );
  const logRecords = events.map(({ name, atMs, attributes }) => ({
    timeUnixNano: `${BigInt(Math.round(atMs)) * 1_000_000n}`,
    body: { stringValue: name },
    attributes: toAttributes(attributes),
  }));
  const resource = { attributes: toAttributes({ [semconv.ATTR_SERVICE_NAME]: service }) };
  return { resourceLogs: [{ resource, scopeLogs: [{ scope: {}, logRecords }] }] };
}

/** The receiver refuses what it has no room for, and takes it later. */
async function post(url: string, body: object, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
    await answer.arrayBuffer();
    if (answer.ok) return;
    if ((answer.status !== 429 && answer.status !== 503) || attempt === ATTEMPTS)
      throw new Error(`the receiver answered ${answer.status}`);
    await new Promise((resolve) => setTimeout(resolve, attempt * RETRY_MS));
  }
}
