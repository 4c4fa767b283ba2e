import { ObservatoryError, VERSION } from '../../base/index.ts';
import { isObject, objectAt, parseContainerOrKeep, stringAt } from '../../json/index.ts';
import { programOutput } from './assemble.ts';
import { FORMAT_VERSION, type ProviderExchange, type UnsealedGolden } from './format.ts';
import { exchangeUsage, readAnswer, readExchange } from './read-exchange.ts';
import { Scrubber } from './scrubber.ts';
import { toWireRequest, toWireResponse } from './wire-response.ts';

/** One recorded HTTP exchange, as `golden import` reads it. */
export interface RecordedExchange {
  readonly provider: string;
  readonly id?: string | undefined;
  /** Groups the exchanges of one recording; with `thread`, those of one conversation. @defaultValue the id */
  readonly conversation_id?: string | undefined;
  readonly thread?: number | undefined;
  readonly turn?: number | undefined;
  readonly model?: string | null | undefined;
  /** ISO 8601; null if it is not known. */
  readonly recorded_at?: string | null | undefined;
  readonly licence?: string | undefined;
  readonly source_repo?: string | undefined;
  readonly source_path?: string | undefined;
  readonly commit?: string | undefined;
  readonly request: { readonly method?: string; readonly path: string; readonly body: unknown };
  readonly response: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly sse?: string;
  };
}

/** @throws ObservatoryError `INVALID_INPUT` that names what the exchange lacks. */
export function readRecordedExchange(value: unknown): RecordedExchange {
  const [request, response] = [objectAt(value, 'request'), objectAt(value, 'response')];
  const lacks = [
    [stringAt(value, 'provider'), 'a provider'],
    [stringAt(value, 'conversation_id') ?? stringAt(value, 'id'), 'a conversation_id'],
    [stringAt(request, 'path'), 'a request with a path'],
    [isObject(request?.body) ? request : undefined, 'a request with a JSON body'],
    [typeof response?.status === 'number' ? response : undefined, 'a response with a status'],
  ].find(([found]) => found === undefined)?.[1];
  if (lacks !== undefined) throw new ObservatoryError('INVALID_INPUT', `The exchange lacks ${String(lacks)}`);
  if (isObject(value) && value.recorded === false) {
    throw new ObservatoryError('INVALID_INPUT', 'The exchange is not a recording (`"recorded": false`)');
  }
  return value as unknown as RecordedExchange;
}

/**
 * Makes goldens of recorded exchanges, one for each conversation, with their real dates, models and tokens. Recordings
 * do not hold durations, so these are null; the date of each request is kept.
 *
 * Such a golden can be shown, compared and played back (`playGolden`); it cannot be rerun, since the program that made
 * the requests is not known.
 *
 * @param options `all` keeps conversations without tool calls too.
 */
export async function importExchanges(
  exchanges: readonly RecordedExchange[],
  { all = false }: { readonly all?: boolean | undefined } = {},
): Promise<UnsealedGolden[]> {
  const conversations = new Map<string, RecordedExchange[]>();
  for (const exchange of exchanges) {
    const id = `${exchange.conversation_id ?? exchange.id}_${exchange.thread ?? 0}`;
    conversations.set(id, [...(conversations.get(id) ?? []), exchange]);
  }
  const goldens: UnsealedGolden[] = [];
  for (const [id, rows] of conversations) {
    rows.sort((left, right) => (left.turn ?? 0) - (right.turn ?? 0));
    const golden = await buildGolden(id, rows);
    if (golden !== undefined && (all || golden.usesTools)) goldens.push(golden.golden);
  }
  return goldens;
}

async function buildGolden(id: string, rows: readonly RecordedExchange[]) {
  const [first] = rows;
  if (first === undefined) return undefined;
  const scrubber = new Scrubber();
  const played: ProviderExchange[] = [];
  for (const [index, row] of rows.entries())
    played.push(await scrubber.cleanExchange(toExchange(row, index)));
  const stories = played.map(readExchange);
  const models = [...new Set(stories.flatMap(({ model }) => (model === undefined ? [] : [model])))];
  const results = stories.some(({ request }) => request.some(({ role }) => role === 'tool'));
  const { source_repo: repo, source_path: path, commit, licence } = first;
  const golden: UnsealedGolden = {
    format_version: FORMAT_VERSION,
    test_name: `${first.provider}_${id}`,
    description: scrubber.clean(
      repo === undefined
        ? ''
        : `Recorded by ${repo}, ${path ?? ''} at ${commit ?? 'an unknown commit'} (${licence ?? 'licence not given'}).`,
    ),
    category: stories.some(({ failure }) => failure !== undefined) ? 'error_recovery' : 'happy_path',
    runner: 'other',
    source: 'recorded',
    recorded_at: readDate(first),
    // It documents what was said at that time, so it does not expire.
    expires_at: null,
    versions: { observatory: VERSION, sdk: null, models, tools: {} },
    input: { provider: first.provider, model: first.model ?? models[0] ?? 'unknown' },
    golden_output: programOutput(stories, played),
    comparison: { final_answer: { check: 'any' }, matchers: {}, bounds: {} },
    provider_responses: played,
    mcp_cassette: null,
  };
  return { golden, usesTools: results || stories.some(({ calls }) => calls.length > 0) };
}

function toExchange(row: RecordedExchange, index: number): ProviderExchange {
  const { method = 'POST', path, body } = row.request;
  const { status, headers = {}, sse } = row.response;
  const url = new URL(path, 'https://recorded.invalid');
  const request = toWireRequest(new Request(url, { method }), JSON.stringify(body));
  const given = new Headers(headers);
  if (sse !== undefined) given.set('content-type', 'text/event-stream');
  const text = sse === undefined ? JSON.stringify(row.response.body ?? null) : compactStream(sse);
  const response = toWireResponse({ status, headers: given }, text, undefined);
  const usage = exchangeUsage(readAnswer(request.path, response)?.usage);
  const startedAt = readDate(row);
  const date = startedAt === null ? {} : { started_at: startedAt };
  return { iteration: index + 1, request, response, token_usage: usage, duration_ms: null, ...date };
}

/** A stream whose events hold compact JSON, as the format keeps it; recordings may have been decoded and re-encoded. */
function compactStream(sse: string): string {
  return sse
    .split(/\r\n|\n|\r/)
    .map((line) => {
      const value = line.startsWith('data:') ? parseContainerOrKeep(line.slice(5).trim()) : undefined;
      return typeof value === 'object' ? `data: ${JSON.stringify(value)}` : line;
    })
    .join('\n');
}

/** The date of the recording, else the one OpenAI puts into its answers. */
function readDate({ recorded_at: recordedAt, response }: RecordedExchange): string | null {
  const time = Date.parse(recordedAt ?? '');
  if (Number.isFinite(time)) return new Date(time).toISOString();
  const { created, created_at: createdAt } = isObject(response.body) ? response.body : {};
  const seconds = typeof created === 'number' ? created : createdAt;
  return typeof seconds === 'number' && seconds > 0 && seconds < 1e11
    ? new Date(seconds * 1000).toISOString()
    : null;
}
