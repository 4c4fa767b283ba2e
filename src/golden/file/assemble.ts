/** What is derived from the parts of a recording: turns, models, hashes, totals; and the golden of a program. */
import { VERSION } from '../../base/index.ts';
import { canonicalHash, stringAt } from '../../json/index.ts';
import { apiOfPath, findProvider } from '../../wire/index.ts';
import {
  type ExchangeUsage,
  FORMAT_VERSION,
  type Golden,
  type GoldenVersions,
  type McpCall,
  type McpCassette,
  type McpConnection,
  type McpServerCassette,
  OFFERS,
  type ProviderExchange,
  type Reached,
  type UnsealedGolden,
} from './format.ts';
import { type ExchangeStory, isRefused, readAnswer, readExchange } from './read-exchange.ts';
import { volatileMatchers } from './volatile.ts';

/** An exchange without its turn, which depends on those before it. */
export type TakenExchange = Omit<ProviderExchange, 'iteration'>;

/** A part of a program's recording, kept as soon as it is known. A later part of the same place replaces it. */
export type ProgramPart =
  | {
      readonly exchange: TakenExchange;
      readonly is_from_provider: boolean;
      readonly sdk: GoldenVersions['sdk'];
    }
  | { readonly call: McpCall }
  | { readonly server: string; readonly reached: Reached }
  | { readonly server: string; readonly at: number; readonly connection: McpConnection };

/** What is known of a program's recording from its start. */
export interface ProgramHead {
  readonly test_name: string;
  /** ISO 8601. */
  readonly recorded_at: string;
}

/** Days after which a recording may no longer reflect the provider's behavior. */
export const EXPIRY_DAYS = 180;
const DAY_MS = 86_400_000;

/**
 * The golden of a program's recording.
 * @param parts in the order in which they were known.
 * @param lack why they are not all; undefined if they are.
 */
export function goldenOfProgram(
  head: ProgramHead,
  parts: readonly ProgramPart[],
  lack: string | undefined,
): UnsealedGolden {
  const taken = parts.filter((part) => 'exchange' in part);
  const exchanges = inTurns(taken.map(({ exchange }) => exchange).sort(byOrder));
  const stories = exchanges.map(readExchange);
  const cassette = findCassette(parts);
  const isRecorded = taken.length > 0 && taken.every((part) => part.is_from_provider);
  const models = listModels(exchanges);
  const [first] = exchanges;
  const api = first === undefined ? undefined : apiOfPath(first.request.path);
  const failed = stories.some(({ failure }) => failure !== undefined);
  return {
    format_version: FORMAT_VERSION,
    test_name: head.test_name,
    description: lack === undefined ? '' : `Not whole: ${lack}`,
    category: failed ? 'error_recovery' : 'happy_path',
    runner: 'other',
    source: isRecorded ? 'recorded' : 'scripted',
    recorded_at: head.recorded_at,
    expires_at: isRecorded
      ? new Date(Date.parse(head.recorded_at) + EXPIRY_DAYS * DAY_MS).toISOString()
      : null,
    versions: {
      observatory: VERSION,
      sdk: taken.find(({ sdk }) => sdk !== null)?.sdk ?? null,
      models,
      tools: toolHashes(cassette),
    },
    input: {
      provider: (api === undefined ? undefined : findProvider(api)?.key) ?? 'unknown',
      model: stories.find(({ model }) => model !== undefined)?.model ?? 'unknown',
    },
    golden_output: {
      ...programOutput(stories, exchanges),
      ...(lack === undefined ? {} : { success: false }),
    },
    comparison: {
      final_answer: { check: 'any' },
      matchers: volatileMatchers(exchanges, cassette?.calls ?? [], head.recorded_at),
      bounds: {},
    },
    provider_responses: exchanges,
    mcp_cassette: cassette,
  };
}

function findCassette(parts: readonly ProgramPart[]): McpCassette | null {
  const servers = new Map<string, { reached?: Reached; connections: McpConnection[] }>();
  const calls = new Map<number, McpCall>();
  for (const part of parts) {
    if ('call' in part) calls.set(part.call.order?.[0] ?? calls.size, part.call);
    else if ('server' in part) {
      const server = servers.get(part.server) ?? { connections: [] };
      servers.set(part.server, server);
      if ('reached' in part) server.reached = part.reached;
      else server.connections[part.at] = part.connection;
    }
  }
  if (servers.size === 0) return null;
  const names = ownNames(servers);
  const findName = (server: string): string => names.get(server) ?? server;
  const named: Record<string, McpServerCassette> = Object.fromEntries(
    [...servers].map(([server, cassette]) => [findName(server), cassette]),
  );
  const inOrder = [...calls.values()]
    .sort(byOrder)
    .map((call) => ({ ...call, server: findName(call.server) }));
  const [offers, others] = [true, false].map((isOffer) =>
    inOrder.filter(({ tool }) => OFFERS.has(tool) === isOffer),
  );
  return { servers: named, calls: others ?? [], offers: offers ?? [] };
}

/** What servers call themselves, which a program's configuration does not tell us. */
function ownNames(servers: ReadonlyMap<string, McpServerCassette>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const [server, { connections }] of servers) {
    const ready = connections.find((connection) => connection?.outcome === 'ready');
    const own = ready?.outcome === 'ready' ? stringAt(ready.server_info, 'name') : undefined;
    const name = freeName(own ?? server, taken);
    taken.add(name);
    names.set(server, name);
  }
  return names;
}

/** A name that is not taken: the wanted one, or one with a number. */
export function freeName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}-${count}`;
  return name;
}

function byOrder(
  left: { readonly order?: Golden['provider_responses'][number]['order'] },
  right: typeof left,
): number {
  return (left.order?.[0] ?? 0) - (right.order?.[0] ?? 0);
}

export function listModels(exchanges: readonly TakenExchange[]): string[] {
  const models = exchanges.map(({ request, response }) => readAnswer(request.path, response)?.model);
  return [...new Set(models.filter((model): model is string => Boolean(model)))];
}

/** Exchanges in request order with their turns: an identical request is a retry of the same turn. */
export function inTurns(exchanges: readonly TakenExchange[]): ProviderExchange[] {
  let iteration = 0;
  let before: string | undefined;
  return exchanges.map((exchange) => {
    const text = JSON.stringify(exchange.request);
    if (text !== before) iteration += 1;
    before = text;
    return { iteration, ...exchange };
  });
}

/** Hash of each server's first tool list. */
export function toolHashes(cassette: McpCassette | null): Record<string, string> {
  return Object.fromEntries(
    Object.entries(cassette?.servers ?? {}).flatMap(([name, { connections }]) => {
      const [first] = connections;
      return first?.outcome === 'ready' ? [[name, canonicalHash(first.tool_lists[0] ?? [])]] : [];
    }),
  );
}

export function programOutput(
  stories: readonly ExchangeStory[],
  played: readonly ProviderExchange[],
): Golden['golden_output'] {
  const last = stories.at(-1);
  const total = (field: keyof ExchangeUsage): number | null => {
    const counts = played.map(({ token_usage: usage }, index) =>
      usage === null && isRefused(stories[index] as ExchangeStory) ? 0 : usage?.[field],
    );
    return counts.every((count) => typeof count === 'number')
      ? counts.reduce((sum, count) => sum + count, 0)
      : null;
  };
  return {
    success: last?.failure === undefined && (last?.calls.length ?? 0) === 0,
    final_result: last?.text ?? '',
    execution_metadata: {
      total_iterations: played.length,
      token_usage: {
        prompt_tokens: total('prompt_tokens'),
        completion_tokens: total('completion_tokens'),
        total_tokens: total('total_tokens'),
      },
    },
  };
}
