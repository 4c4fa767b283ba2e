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
import type { Message } from '../../interaction/index.ts';
import { toWire } from '../../orchestrator/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import {
  A_CATEGORY,
  fromGoldenInput,
  type Golden,
  type GoldenCategory,
  GoldenMismatchError,
  type GoldenSource,
  type McpServerCassette,
  type RequestContent,
  type UnsealedGolden,
  writeGolden,
} from '../file/index.ts';
import { replayRun } from '../replay/index.ts';
import { goldenOfTrace } from './program-trace.ts';
import { findGhostRun, isRun, readOptions, type StoredRun, splitSystemPrompt } from './read-run.ts';
import { notCaptured, readSpans, unusable } from './spans.ts';

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
 * Spans hold the content, not the bytes: so does the golden, which says in its description what it lacks. That of a run of
 * `mcpGhost` is replayed once, and written only if the run takes the same course.
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
  const isProgram = options.spanId === undefined && !spans.some(isRun);
  const run = isProgram ? undefined : findGhostRun(options.traceId, spans, options.spanId);
  const head = {
    test_name: options.testName ?? `trace_${options.traceId.replaceAll('-', '').slice(0, 8)}`,
    recorded_at: new Date((run?.agent ?? spans[0])?.startedMs ?? 0).toISOString(),
  };
  const traced = goldenOfTrace(options.traceId, run?.spans ?? spans, head, !isProgram);
  const { lacks, missing, ...golden } = traced;
  const hasFailure = golden.mcp_cassette?.calls.some(
    ({ outcome, result }) => outcome === 'error' || result?.isError === true,
  );
  const described = {
    ...golden,
    description: `Made from the trace ${options.traceId}. It lacks: ${lacks.join('; ')}.`,
    category: options.category ?? (hasFailure ? 'error_recovery' : golden.category),
    source: options.source ?? golden.source,
  };
  if (run === undefined) return await writeGolden(options.path, described);
  if (missing !== undefined) throw notCaptured(missing);
  return await writeGolden(options.path, await withOutput(asRun(described, run)));
}

/** With the input of a run of `mcpGhost`, as its spans tell it. */
function asRun(golden: UnsealedGolden, run: StoredRun): UnsealedGolden {
  const { servers = {}, calls = [] } = golden.mcp_cassette ?? {};
  const [first] = golden.provider_responses;
  const { messages } = (first?.request.body ?? { messages: [] }) as RequestContent;
  const words = (wanted: Message['role']): string[] =>
    messages.filter(({ role }) => role === wanted).map(toText);
  const { systemPrompt, notes } = splitSystemPrompt(words('system').join('\n\n'), Object.keys(servers));
  const noted = Object.entries(servers).map(([name, { connections }]): [string, McpServerCassette] => {
    const instructions = notes.get(name) ?? null;
    return [name, { connections: connections.map((one) => ({ ...one, instructions })) }];
  });
  // A trace does not tell how servers are started, and a replay does not start them.
  const urls = Object.keys(servers).map((name) => [
    name,
    { url: `https://${encodeURIComponent(name)}.invalid/mcp` },
  ]);
  return {
    ...golden,
    runner: 'mcp_ghost',
    input: {
      ...readOptions(run, golden.provider_responses.length),
      system_prompt: systemPrompt,
      user_prompt: words('user')[0] ?? '',
      server_config: { mcpServers: Object.fromEntries(urls) },
    },
    comparison: { final_answer: { check: 'exact' }, matchers: {}, bounds: {} },
    mcp_cassette: { servers: Object.fromEntries(noted), calls },
  };
}

/**
 * With the output of a replay.
 * @throws ObservatoryError `TRACE_UNUSABLE` if it takes another course than the trace
 */
async function withOutput(golden: UnsealedGolden): Promise<UnsealedGolden> {
  const folder = await mkdtemp(join(tmpdir(), 'golden-from-trace-'));
  try {
    const path = join(folder, 'golden.json');
    await writeGolden(path, golden);
    const result = await withoutTracing(() =>
      replayRun(fromGoldenInput(golden.input), { mode: 'replay', path, allowExpired: true }),
    );
    return { ...golden, golden_output: { ...toWire(result) } };
  } catch (error) {
    if (!(error instanceof GoldenMismatchError)) throw error;
    throw unusable(
      `The run took another course when it was played back from the trace: ${error.message}. Options that spans do not tell (a gate, budgets, limits on results) or another version of mcp-observatory may be why; record the run with golden: { mode: 'record' } instead`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function toText({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.content : '')).join('');
}
