/** Recorded tool calls, wherever they were recorded: audit trails and the log of the hook, goldens, JSON lines, the store. */
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errorMessage, readLines, semconv } from '../base/index.ts';
import { readGolden } from '../golden/index.ts';
import { FILE_LIMITS, isObject, type JsonObject, parseOrKeep, parseStrictJson } from '../json/index.ts';
import { REQUEST_METHODS, type RecordedCall, readRecordedCalls } from '../policy/index.ts';
import {
  ageFlag,
  type CommandIo,
  DATABASE_FLAGS,
  type FlagValues,
  findOpenDatabase,
  usageError,
} from './command-line/index.ts';

/** Flags that say where recordings are, beside the files that a command names. */
export const RECORDING_FLAGS = { since: { type: 'string' }, ...DATABASE_FLAGS } as const;

export const RECORDINGS_HELP = `SOURCE is a folder or a file of the audit trail, which is also the log of 'hook' (recorded with
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true; SAFE_AUDIT_KEY decrypts it), a golden, or JSON lines
{"server", "tool", "args", "run"?, "query"?, "result"?}. With --since AGE also the calls of the store whose content
was captured (--database-url, --data-dir).`;

export interface Recordings {
  readonly calls: readonly RecordedCall[];
  /** Calls that were recorded without their arguments. */
  readonly missing: number;
}

type Values = FlagValues<keyof typeof RECORDING_FLAGS>;

const MAX_CALLS = 200_000;
const MAX_FILES = 20_000;

/** @throws ObservatoryError `INVALID_OPTION` for a source that cannot be read. */
export async function readRecordings(
  sources: readonly string[],
  values: Values,
  io: CommandIo,
): Promise<Recordings> {
  if (sources.length === 0 && values.since === undefined)
    throw usageError('Name a SOURCE of recorded calls, or --since AGE for those of the store');
  const calls: RecordedCall[] = [];
  let missing = 0;
  const take = (found: Recordings): void => {
    for (const call of found.calls) calls.push(call);
    missing += found.missing;
    if (calls.length > MAX_CALLS) throw usageError(`There are more than ${MAX_CALLS} calls`);
  };
  for (const file of sources.flatMap(listFiles)) take(await readSource(file, io));
  if (values.since !== undefined) take(await readStored(values, values.since, io));
  return { calls, missing };
}

function listFiles(source: string): readonly string[] {
  const state = statSync(source, { throwIfNoEntry: false });
  if (state === undefined) throw usageError(`There is no '${source}'`);
  if (!state.isDirectory()) return [source];
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).sort();
  const runs = files.filter((path) => /^run-.*\.jsonl$/.test(basename(path)));
  const chosen = runs.length > 0 ? runs : files.filter((path) => path.endsWith('.json'));
  const found = chosen.map((path) => join(source, path));
  if (found.length === 0 || found.length > MAX_FILES)
    throw usageError(`'${source}' has ${found.length} recordings; from 1 to ${MAX_FILES} are read`);
  return found;
}

async function readSource(path: string, io: CommandIo): Promise<Recordings> {
  try {
    if (path.endsWith('.json')) return await readGoldenCalls(path);
    const first = await readFirstLine(path);
    if (typeof first?.hash === 'string' && typeof first.run_id === 'string')
      return await readRecordedCalls(path, io.env.SAFE_AUDIT_KEY || undefined);
    return await readCallLines(path);
  } catch (cause) {
    throw usageError(`'${path}' cannot be read: ${errorMessage(cause)}`, cause);
  }
}

async function readFirstLine(path: string): Promise<JsonObject | undefined> {
  const input = createReadStream(path);
  try {
    for await (const line of readLines(input)) {
      const value = typeof line === 'string' ? parseOrKeep(line) : undefined;
      return isObject(value) ? value : undefined;
    }
    return undefined;
  } finally {
    input.destroy();
  }
}

async function readGoldenCalls(path: string): Promise<Recordings> {
  const golden = await readGolden(path, { allowExpired: true });
  const { input, mcp_cassette: cassette, test_name: run } = golden;
  const made = (cassette?.calls ?? []).filter(
    ({ tool, session_expired }) => session_expired !== true && !REQUEST_METHODS.includes(tool),
  );
  const calls = made.map(({ server, tool, arguments: args, result }): RecordedCall => {
    const request = input.user_prompt;
    return {
      server,
      tool,
      args,
      run,
      ...(request === undefined ? {} : { request }),
      ...(result && { result }),
    };
  });
  return { calls, missing: 0 };
}

async function readCallLines(path: string): Promise<Recordings> {
  const calls: RecordedCall[] = [];
  let number = 0;
  for await (const line of readLines(createReadStream(path))) {
    number += 1;
    if (typeof line !== 'string') throw line;
    if (line.trim() === '') continue;
    const call = parseStrictJson(line, FILE_LIMITS);
    const { server, tool, args, run, query, result } = isObject(call) ? call : {};
    if (typeof server !== 'string' || typeof tool !== 'string' || !isObject(args))
      throw usageError(`line ${number} is not {"server", "tool", "args"}`);
    calls.push({
      ...{ server, tool, args },
      ...(typeof run === 'string' ? { run } : {}),
      ...(typeof query === 'string' ? { request: query } : {}),
      ...(result === undefined ? {} : { result: toResult(result) }),
    });
  }
  return { calls, missing: 0 };
}

function toResult(result: unknown): unknown {
  if (isObject(result) && Array.isArray(result.content)) return result;
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  return { content: [{ type: 'text', text }] };
}

const STORED = `SELECT trace_id::text AS run, tool_name AS tool,
  COALESCE(attributes->>'observatory.mcp_server', server_name) AS server,
  attributes->>$2 AS args, attributes->>$3 AS result
FROM mcp_traces
WHERE start_time >= $1 AND tool_name IS NOT NULL AND (operation = 'execute_tool' OR method = 'tools/call')
ORDER BY start_time LIMIT ${MAX_CALLS + 1}`;

/** A call that both its client and its host have told of is there twice, which changes nothing here. */
async function readStored(values: Values, since: string, io: CommandIo): Promise<Recordings> {
  const from = ageFlag('--since', since);
  await using db = await findOpenDatabase(values, io);
  const { rows } = await db.query(STORED, [
    from,
    semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS,
    semconv.ATTR_GEN_AI_TOOL_CALL_RESULT,
  ]);
  const calls: RecordedCall[] = [];
  for (const { run, tool, server, args: text, result } of rows) {
    const args = typeof text === 'string' ? parseOrKeep(text) : undefined;
    if (typeof server !== 'string' || !isObject(args)) continue;
    const given = typeof result === 'string' ? { result: toResult(parseOrKeep(result)) } : {};
    calls.push({ server, tool: String(tool), args, run: String(run), ...given });
  }
  return { calls, missing: rows.length - calls.length };
}
