import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ObservatoryError } from '../../base/index.ts';
import {
  computeEffectiveness,
  type Effectiveness,
  type Golden,
  type GoldenProblem,
  inspectGolden,
  isApproved,
  readExchange,
} from '../../golden/index.ts';
import { type FinishReason, readFinishReason } from '../../wire/index.ts';
import { usageError } from '../command-line/index.ts';
import { tellStory } from './inspect/index.ts';

export interface Exercised {
  /** Called tools, as `server.tool`. */
  readonly called: ReadonlySet<string>;
  /** Tools listed by a server or offered to the model. */
  readonly offered: ReadonlySet<string>;
  /** Kinds of failure in the run, see {@link ERROR_KINDS}. */
  readonly errorKinds: ReadonlySet<string>;
}

/** The kinds of failure that a library should cover, with descriptions. */
export const ERROR_KINDS: ReadonlyMap<string, string> = new Map([
  ['tool_error', 'a tool answers with isError'],
  ['protocol_error', 'a server answers with a JSON-RPC error'],
  ['timeout', 'a tool does not answer in time'],
  ['server_lost', 'a server goes away'],
  ['server_unavailable', 'a server cannot be opened'],
  ['rate_limit', 'the provider refuses with 429'],
  ['provider_error', 'the provider refuses with another status, or cannot be reached'],
  ['cut_stream', 'the connection breaks in the middle of an answer'],
  ['truncated', 'the answer is cut off by the output limit'],
  ['refused', 'the model refuses, or the provider blocks the answer'],
  ['malformed_call', 'the arguments of a call cannot be read'],
  ['limit', 'the run is stopped by a limit: turns, budget, or a loop'],
]);

const KIND_OF_REASON: Readonly<Partial<Record<FinishReason, string>>> = {
  length: 'truncated',
  content_filter: 'refused',
  malformed_call: 'malformed_call',
};

const LIMITS: ReadonlySet<string> = new Set(['max_iterations', 'budget', 'loop']);

export function exercised(golden: Golden): Exercised {
  const story = tellStory(golden);
  const kinds = new Set<string>();
  for (const exchange of golden.provider_responses)
    for (const kind of exchangeKinds(exchange)) kinds.add(kind);
  for (const kind of serverKinds(golden)) kinds.add(kind);
  if (LIMITS.has(story.outcome.stopReason ?? '')) kinds.add('limit');
  const tools = story.steps.filter((step) => step.kind === 'tool');
  if (golden.mcp_cassette === null && tools.some(({ failure }) => failure !== undefined))
    kinds.add('tool_error');
  return { called: new Set(tools.map(({ name }) => name)), offered: offeredTools(golden), errorKinds: kinds };
}

function exchangeKinds(exchange: Golden['provider_responses'][number]): string[] {
  const { failure, finishReason, calls, refused } = readExchange(exchange);
  const kinds: string[] = [];
  if (failure?.kind === 'http_429') kinds.push('rate_limit');
  else if (failure?.kind === 'cut') kinds.push('cut_stream');
  else if (failure !== undefined) kinds.push('provider_error');
  const kind = refused ? 'refused' : KIND_OF_REASON[readFinishReason(finishReason)];
  if (kind !== undefined) kinds.push(kind);
  // Arguments that are not JSON stay text.
  if (calls.some(({ arguments: args }) => typeof args === 'string')) kinds.push('malformed_call');
  return kinds;
}

function serverKinds({ mcp_cassette: cassette }: Golden): string[] {
  const kinds: string[] = [];
  for (const { connections } of Object.values(cassette?.servers ?? {})) {
    if (connections.some(({ outcome }) => outcome === 'failed')) kinds.push('server_unavailable');
  }
  for (const { outcome, result, server_died: died } of cassette?.calls ?? []) {
    if (outcome === 'result' && result?.isError === true) kinds.push('tool_error');
    if (outcome === 'error') kinds.push('protocol_error');
    if (outcome === 'timeout') kinds.push('timeout');
    if (outcome === 'lost' || died !== undefined) kinds.push('server_lost');
  }
  return kinds;
}

function offeredTools({ mcp_cassette: cassette }: Golden): ReadonlySet<string> {
  const names = Object.entries(cassette?.servers ?? {}).flatMap(([server, { connections }]) =>
    connections.flatMap((connection) =>
      connection.outcome === 'ready'
        ? connection.tool_lists.flatMap((list) =>
            list.map((tool) => `${server}.${String((tool as { readonly name?: unknown }).name)}`),
          )
        : [],
    ),
  );
  return new Set(names);
}

export interface ListedGolden {
  /** Relative to the library. */
  readonly file: string;
  readonly testName: string;
  readonly category: string;
  readonly provider: string;
  readonly model: string;
  readonly source: 'recorded' | 'scripted';
  readonly recordedAt: string | null;
  readonly expiresAt: string | null;
  readonly expired: boolean;
  readonly problems: readonly GoldenProblem[];
  readonly exchanges: number;
  readonly exercised: Exercised;
  /** Whether a person has approved it as it is. */
  readonly approved: boolean;
  /** How many changed runs it catches, if asked for. */
  readonly effectiveness?: Effectiveness | undefined;
}

export interface UnreadableGolden {
  readonly file: string;
  readonly message: string;
}

export interface GoldenLibrary {
  readonly goldens: readonly ListedGolden[];
  readonly unreadable: readonly UnreadableGolden[];
  readonly coverage: Coverage;
}

export interface Coverage {
  readonly tools: Readonly<Record<string, number>>;
  /** Number of goldens with each kind of failure, including 0. */
  readonly errorKinds: Readonly<Record<string, number>>;
}

const MAX_FILES = 10_000;

/**
 * Reads all goldens below a folder: every `.json` file that has `provider_responses` or is unreadable.
 * @param now decides what is expired.
 * @param mutate whether to find out how many changed runs each catches.
 * @throws ObservatoryError `INVALID_OPTION` when the folder cannot be read.
 */
export async function listGoldens(
  folder: string,
  now: Date = new Date(),
  mutate = false,
): Promise<GoldenLibrary> {
  const goldens: ListedGolden[] = [];
  const unreadable: UnreadableGolden[] = [];
  for (const path of await jsonFiles(folder)) {
    const file = relative(folder, path);
    try {
      const { golden, problems } = await inspectGolden(path, now);
      goldens.push({
        file,
        testName: golden.test_name,
        category: golden.category,
        provider: golden.input.provider,
        model: golden.versions.models.join(', ') || golden.input.model,
        source: golden.source,
        recordedAt: golden.recorded_at,
        expiresAt: golden.expires_at,
        expired: problems.some(({ code }) => code === 'GOLDEN_EXPIRED'),
        problems,
        exchanges: golden.provider_responses.length,
        exercised: exercised(golden),
        approved: isApproved(golden),
        ...(mutate ? { effectiveness: computeEffectiveness(golden) } : {}),
      });
    } catch (error) {
      if (!ObservatoryError.isInstance(error)) throw error;
      if (!isOtherDocument(path)) unreadable.push({ file, message: error.message });
    }
  }
  return { goldens, unreadable, coverage: toCoverage(goldens) };
}

/** `shared/` has other files that goldens share, such as tool definitions. */
function isOtherDocument(path: string): boolean {
  return /[\\/]shared[\\/]/.test(path);
}

async function jsonFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: Error) => {
    throw usageError(`Cannot read the folder '${folder}': ${cause.message}`, cause);
  });
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/[\\/]node_modules[\\/]/.test(path))
    .sort();
  if (files.length > MAX_FILES) {
    throw usageError(`The folder '${folder}' holds ${files.length} JSON files; give that of the goldens`);
  }
  return files;
}

function toCoverage(goldens: readonly ListedGolden[]): Coverage {
  const tools: Record<string, number> = {};
  const errorKinds: Record<string, number> = {};
  for (const kind of ERROR_KINDS.keys()) errorKinds[kind] = 0;
  for (const { exercised: one } of goldens) {
    for (const tool of one.offered) tools[tool] ??= 0;
    for (const tool of one.called) tools[tool] = (tools[tool] ?? 0) + 1;
    for (const kind of one.errorKinds) errorKinds[kind] = (errorKinds[kind] ?? 0) + 1;
  }
  return { tools: sorted(tools), errorKinds: sorted(errorKinds) };
}

function sorted(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}
