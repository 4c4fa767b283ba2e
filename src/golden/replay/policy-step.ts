import type { Golden, GoldenOutput } from '../file/index.ts';
import { askStep, type PolicyStep } from '../record/index.ts';
import { playedLink } from './cassette-player.ts';
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
  const step: PolicyStep = {
    query: input.user_prompt ?? '',
    policy,
    provider: input.provider,
    model: input.model,
    servers: (input.server_config?.mcpServers ?? {}) as PolicyStep['servers'],
    summarize,
  };
  const player = new GoldenPlayer(golden, { liveTools: tools === 'live' });
  const servers = tools === 'live' ? {} : { openLink: playedLink(player.cassette), expandVariables: false };
  try {
    const output = await askStep(step, { apiKey: 'not-needed', fetch: player.fetch }, servers);
    player.assertFinished();
    return output;
  } catch (error) {
    // The host reports a failed planner or tool; the miss is the cause.
    throw player.failure ?? error;
  }
}
