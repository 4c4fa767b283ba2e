import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkOptions,
  checkValue,
  having,
  kinds,
  type OptionKinds,
  oneOf,
  required,
  withoutTracing,
} from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import {
  A_CATEGORY,
  type Golden,
  type GoldenCategory,
  type GoldenSource,
  readGolden,
  type UnsealedGolden,
  writeGolden,
} from '../file/index.ts';
import { recordRun } from '../record/index.ts';
import { assertSameCourse, withStoredTimes } from './course.ts';
import { playModel, playServers, toBaseUrl } from './played-trace.ts';
import { goldenOfTrace } from './program-trace.ts';
import { isRun, readRun } from './read-run.ts';
import { readSpans, type SpanRow } from './spans.ts';
import type { StoredRun } from './stored-run.ts';

export interface GoldenFromTraceOptions {
  /** 32 hex digits, or the UUID in the table. */
  readonly traceId: string;
  /** File to write. */
  readonly path: string;
  /** Id of the run's `invoke_agent` span, if the trace has several runs. */
  readonly spanId?: string | undefined;
  /** @defaultValue `trace_` and the first eight digits of the trace id */
  readonly testName?: string | undefined;
  /** @defaultValue 'happy_path', or 'error_recovery' for a run with a failed call */
  readonly category?: GoldenCategory | undefined;
  /** @defaultValue 'scripted' if every model call went to this machine, else 'recorded' */
  readonly source?: GoldenSource | undefined;
}

const OPTIONS: OptionKinds<GoldenFromTraceOptions> = {
  traceId: required(kinds.string),
  path: required(kinds.string),
  spanId: kinds.string,
  testName: kinds.string,
  category: A_CATEGORY,
  source: oneOf('recorded', 'scripted'),
};

/**
 * Makes a golden from a run that was stored in `mcp_traces` with captured content.
 *
 * Spans hold the content, not the bytes. A golden of a program holds that content, and says in its description what it
 * lacks. A run of `mcpGhost` is repeated against local servers that replay the trace, and recorded like any other run. Its
 * golden is written only if it took the same course, request by request. It lacks what spans do not hold: reasoning with
 * its signatures, failed attempts, how servers are started, and tool annotations.
 *
 * @returns the golden as written.
 * @throws ObservatoryError `TRACE_UNUSABLE` if the trace is missing, has no run, or lacks its content; the message says
 * what to do.
 */
export async function goldenFromTrace(db: Queryable, options: GoldenFromTraceOptions): Promise<Golden> {
  checkValue(
    'the database of goldenFromTrace()',
    db,
    having('a database, an object with a method query()', 'query'),
  );
  checkOptions(options, OPTIONS, 'goldenFromTrace()');
  const spans = await readSpans(db, options.traceId);
  if (options.spanId === undefined && !spans.some(isRun))
    return await writeGolden(options.path, ofProgram(spans, options));
  const run = readRun(options.traceId, spans, options.spanId);
  const folder = await mkdtemp(join(tmpdir(), 'golden-from-trace-'));
  try {
    const file = join(folder, 'golden.json');
    await withoutTracing(() => recordAgain(run, file, options));
    const recorded = await readGolden(file, { allowExpired: true });
    assertSameCourse(run, recorded);
    return await writeGolden(options.path, finished(recorded, run));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function ofProgram(spans: readonly SpanRow[], options: GoldenFromTraceOptions): UnsealedGolden {
  const { lacks, ...golden } = goldenOfTrace(options.traceId, spans, {
    test_name: nameOf(options),
    recorded_at: new Date(spans[0]?.startedMs ?? 0).toISOString(),
  });
  return {
    ...golden,
    description: `Made from the trace ${options.traceId}. It lacks: ${lacks.join('; ')}.`,
    category: options.category ?? golden.category,
    source: options.source ?? golden.source,
  };
}

function nameOf({ testName, traceId }: GoldenFromTraceOptions): string {
  return testName ?? `trace_${traceId.replaceAll('-', '').slice(0, 8)}`;
}

async function recordAgain(run: StoredRun, file: string, options: GoldenFromTraceOptions): Promise<void> {
  const names = [...new Set([...run.tools, ...run.calls].map(({ server }) => server))];
  const first = run.turns[0]?.input ?? [];
  const system = first
    .filter(({ role }) => role === 'system')
    .map(toText)
    .join('\n\n');
  const { systemPrompt, notes } = splitSystemPrompt(system, names);
  await using model = await playModel(run);
  await using servers = await playServers(run, notes);
  const failed = run.calls.some(
    ({ result, errorCode }) => errorCode !== undefined || result.isError === true,
  );
  await recordRun(
    {
      serverConfig: {
        mcpServers: Object.fromEntries(names.map((name) => [name, { url: servers.urlOf(name) }])),
      },
      systemPrompt,
      userPrompt: toText(first.find(({ role }) => role === 'user')),
      provider: run.provider,
      model: run.model,
      namespace: run.namespace,
      apiKey: 'not-needed',
      baseUrl: toBaseUrl(run.provider, model),
      plan: run.hasPlan,
      enableBacktracking: run.hasBacktracking,
      ...(run.stopReason === 'max_iterations' ? { maxIterations: run.turns.length - 1 } : {}),
      // The trace holds only the final outcome of each call.
      retry: { maxAttempts: 1 },
    },
    {
      mode: 'record',
      path: file,
      testName: nameOf(options),
      description: `Made from the trace ${run.traceId}: texts, calls, results, tokens and times are those of the run; wire forms are composed from them.`,
      category: options.category ?? (failed ? 'error_recovery' : 'happy_path'),
      source: options.source ?? (run.isLocalModel ? 'scripted' : 'recorded'),
      recordedAt: run.startedAt,
    },
  );
}

/** Removes what belongs to the local servers. */
function finished(recorded: Golden, run: StoredRun): Golden {
  const golden = withStoredTimes(recorded, run);
  const servers = Object.keys(golden.mcp_cassette?.servers ?? {});
  return {
    ...golden,
    versions: { ...golden.versions, sdk: null, tools: {} },
    input: {
      ...golden.input,
      // A trace does not tell how servers are started, and a replay does not start them.
      server_config: {
        mcpServers: Object.fromEntries(
          servers.map((name) => [name, { url: `https://${encodeURIComponent(name)}.invalid/mcp` }]),
        ),
      },
    },
  };
}

function toText(message: StoredRun['turns'][number]['input'][number] | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === 'text' ? part.content : '')).join('');
}

/** Where the orchestrator's part of a system prompt begins; see `buildSystemPrompt`. */
const GUIDANCE = /(?:^|\n\n)(?:## Working with tools\n|<working_with_tools>\n)/;
const HEADED_NOTE = /\n\n## Notes of the server ([^\n]{1,200})\n/;
const TAGGED_NOTE = /\n\n<notes_of_the_server_([a-z0-9_]{1,200})>\n/;

interface SystemPromptParts {
  readonly systemPrompt: string;
  /** Instructions of servers, by name. A tag has the name in lower case with underscores. */
  readonly notes: ReadonlyMap<string, string>;
}

/**
 * Splits the system prompt of a run into its parts.
 * @param servers names of the run's servers, to resolve tags.
 */
function splitSystemPrompt(text: string, servers: readonly string[]): SystemPromptParts {
  const cut = text.search(GUIDANCE);
  if (cut < 0) return { systemPrompt: text, notes: new Map() };
  const notes = new Map<string, string>();
  const rest = text.slice(cut);
  const headed = rest.split(HEADED_NOTE);
  for (let at = 1; at < headed.length; at += 2) notes.set(headed[at] ?? '', headed[at + 1] ?? '');
  const tagged = rest.split(TAGGED_NOTE);
  for (let at = 1; at < tagged.length; at += 2) {
    const tag = tagged[at] ?? '';
    const server = servers.find((name) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_') === tag) ?? tag;
    notes.set(server, (tagged[at + 1] ?? '').replace(`\n</notes_of_the_server_${tag}>`, ''));
  }
  return { systemPrompt: text.slice(0, cut), notes };
}
