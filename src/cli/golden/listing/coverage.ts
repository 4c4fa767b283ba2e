import { type Golden, readExchange } from '../../../golden/index.ts';
import { tellStory } from '../inspect/index.ts';

/** What a golden exercises. */
export interface Exercised {
  /** Tools that are called, `server.tool`. */
  readonly called: ReadonlySet<string>;
  /** Tools that are listed by a server or offered to the model. */
  readonly offered: ReadonlySet<string>;
  /** Kinds of trouble the run met; see {@link ERROR_KINDS}. */
  readonly errorKinds: ReadonlySet<string>;
}

/** The kinds of trouble a library should show, and what each is. */
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

/** Finish reasons of the providers, in lower case, by the kind of trouble they tell. */
const KIND_OF_REASON: ReadonlyMap<string, string> = new Map([
  ['length', 'truncated'],
  ['max_tokens', 'truncated'],
  ['max_output_tokens', 'truncated'],
  ['content_filter', 'refused'],
  ['refusal', 'refused'],
  ['safety', 'refused'],
  ['recitation', 'refused'],
  ['prohibited_content', 'refused'],
  ['malformed_function_call', 'malformed_call'],
]);

const LIMITS: ReadonlySet<string> = new Set(['max_iterations', 'budget', 'loop']);

/** Reads what a golden exercises. */
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
  const kind = refused ? 'refused' : KIND_OF_REASON.get(finishReason?.toLowerCase() ?? '');
  if (kind !== undefined) kinds.push(kind);
  // Arguments that are no JSON stay the text they were written as.
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
