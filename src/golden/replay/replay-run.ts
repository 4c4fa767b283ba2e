import { type GhostResult, type RunOptions, runGhost } from '../../orchestrator/index.ts';
import { readGolden } from '../file/index.ts';
import { playedLink } from './played-link.ts';
import { GoldenPlayer } from './player.ts';

/** Plays a run from a file. No model is asked and no key is needed. */
export interface ReplayGoldenOptions {
  readonly mode: 'replay';
  /** File to play. */
  readonly path: string;
  /**
   * `recorded` starts no server and takes what tools returned from the file; `live` runs them for real, so that a
   * change of a server shows in the result. @defaultValue 'recorded'
   */
  readonly tools?: 'recorded' | 'live' | undefined;
  /** Play a golden that is past its date. @defaultValue false */
  readonly allowExpired?: boolean | undefined;
}

/**
 * Runs the task with the model's answers, and unless told otherwise the servers', taken from a golden.
 * @throws ObservatoryError `INVALID_OPTION` for a provider not given by name; what `readGolden` throws;
 * `GOLDEN_MISMATCH` when the run departs from the golden.
 */
export async function replayRun(options: RunOptions, golden: ReplayGoldenOptions): Promise<GhostResult> {
  const liveTools = golden.tools === 'live';
  const { allowExpired } = golden;
  const player = new GoldenPlayer(await readGolden(golden.path, { allowExpired }), { liveTools });
  const signals = [options.signal, player.signal].filter((signal) => signal !== undefined);
  // Calls that reach no server do not belong in the audit trail unless it is asked for.
  const audit = options.audit ?? (liveTools ? undefined : false);
  return await runGhost(
    // No key is needed, so none is looked for.
    { ...options, audit, apiKey: 'not-needed', signal: AbortSignal.any(signals) },
    {
      fetch: player.fetch,
      wait: () => Promise.resolve(),
      ...(liveTools ? {} : { openLink: playedLink(player.cassette), expandVariables: false }),
      finish: async () => player.assertFinished(),
    },
  );
}
