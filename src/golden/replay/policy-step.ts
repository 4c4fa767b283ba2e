import { connectPolicyServers, type PolicyServer, type ToolDefinition } from '../../policy/index.ts';
import type { Golden, GoldenOutput } from '../file/index.ts';
import { askStep, type PolicyStep } from '../record/index.ts';
import type { CassettePlayer } from './cassette-player.ts';
import { GoldenPlayer } from './player.ts';

/**
 * Runs the step of a golden again.
 * @throws GoldenMismatchError for a request or call that the golden does not hold, and for unused entries.
 */
export async function replayPolicyStep(
  golden: Golden,
  tools: 'recorded' | 'live' = 'recorded',
): Promise<GoldenOutput> {
  const { input } = golden;
  const { policy, summarize } = (input.options ?? {}) as Pick<PolicyStep, 'policy' | 'summarize'>;
  const configs = (input.server_config?.mcpServers ?? {}) as PolicyStep['servers'];
  const step: PolicyStep = {
    query: input.user_prompt ?? '',
    policy,
    provider: input.provider,
    model: input.model,
    servers: configs,
    summarize,
  };
  const player = new GoldenPlayer(golden, { liveTools: tools === 'live' });
  const servers: Readonly<Record<string, PolicyServer>> =
    tools === 'live'
      ? await connectPolicyServers({ mcpServers: configs })
      : Object.fromEntries(Object.keys(configs).map((id) => [id, playedServer(id, player.cassette)]));
  try {
    const output = await askStep(step, { apiKey: 'not-needed', fetch: player.fetch }, servers);
    player.assertFinished();
    return output;
  } catch (error) {
    // The host reports a failed planner or tool; the miss is the cause.
    throw player.failure ?? error;
  }
}

/** Plays a server of a golden. */
function playedServer(id: string, cassette: CassettePlayer): PolicyServer {
  const connection = cassette.open(id);
  const lists = connection.outcome === 'ready' ? connection.tool_lists : [];
  let read = 0;
  return {
    listTools: async () => {
      if (connection.outcome === 'failed') throw new Error(connection.error);
      const list = lists[read] ?? lists.at(-1) ?? [];
      read += 1;
      return list as readonly ToolDefinition[];
    },
    callTool: async (tool, args) => {
      const call = cassette.call(id, tool, args);
      if (call.outcome === 'result') return call.result;
      throw new Error(call.message ?? call.error?.message);
    },
    close: () => Promise.resolve(),
  };
}
