import { checkKinds, type OptionKind } from '../base/index.ts';
import { isObject } from '../json/index.ts';
import { type GhostResult, type RunOptions, runGhost } from '../orchestrator/index.ts';
import type { RecordGoldenOptions } from './record/index.ts';
import type { ReplayGoldenOptions } from './replay/index.ts';

/** Records the run to a file, or plays it from one. */
export type GoldenOption = RecordGoldenOptions | ReplayGoldenOptions;

/** Options of {@link mcpGhost}. */
export interface GhostOptions extends RunOptions {
  /** Record the run to a file, or play it from one. Requires `provider` to be a name. */
  readonly golden?: GoldenOption | undefined;
}

const A_GOLDEN_OPTION: OptionKind = {
  expected: "{ mode: 'record', path } or { mode: 'replay', path }",
  accepts: (value) => isObject(value) && ['record', 'replay'].includes(value.mode as string),
};

/**
 * Lets a model work on a task with the tools of MCP servers until it answers or reaches a limit. Returns the answer and
 * everything that led to it. All servers are closed when it returns or throws.
 *
 * @throws ObservatoryError `INVALID_OPTION`, `INVALID_SERVER_CONFIG`, `API_KEY_MISSING` or `MISSING_PEER`, before
 * anything is started; `AUDIT_UNAVAILABLE` when a gated run cannot be recorded; the signal's reason when it has fired
 * before the start or during a replay; with `golden`, the errors of reading or writing the file, and `GOLDEN_MISMATCH`
 * when a replay departs from it. Later failures, an abort among them, are reported in the result; an aborted run is not
 * recorded.
 */
export async function mcpGhost(options: GhostOptions): Promise<GhostResult> {
  checkKinds(options, { golden: A_GOLDEN_OPTION }, 'mcpGhost()');
  const { golden, ...run } = options;
  return golden === undefined ? await runGhost(run) : await recordOrReplay(golden, run);
}

async function recordOrReplay(golden: GoldenOption, options: RunOptions): Promise<GhostResult> {
  // Loaded on demand: most runs neither record nor replay.
  if (golden.mode === 'record') {
    const { recordRun } = await import('./record/index.ts');
    return await recordRun(options, golden);
  }
  const { replayRun } = await import('./replay/index.ts');
  return await replayRun(options, golden);
}
