import {
  camelCase,
  checkOptions,
  kinds,
  ObservatoryError,
  type OptionKinds,
  oneOf,
} from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import { type GhostResult, type RunOptions, runGhost, toWire } from '../../orchestrator/index.ts';
import { askResultToWire } from '../../policy/index.ts';
import { compareWithGolden, toOutput } from '../compare/index.ts';
import {
  type Finding,
  fromGoldenInput,
  type Golden,
  GoldenMismatchError,
  type GoldenOutput,
  readGolden,
} from '../file/index.ts';
import { askStep, type PolicyStep } from '../record/index.ts';
import { playedLink } from './cassette-player.ts';
import { GoldenPlayer } from './player.ts';

/** Replays a run from a file, without a model and without a key. */
export interface ReplayGoldenOptions {
  readonly mode: 'replay';
  /** File to replay. */
  readonly path: string;
  /**
   * `recorded` takes tool results from the file and starts no server; `live` runs the tools, so that changes of a server
   * show in the result. @defaultValue 'recorded'
   */
  readonly tools?: 'recorded' | 'live' | undefined;
  /** Accept an expired golden. @defaultValue false */
  readonly allowExpired?: boolean | undefined;
}

/**
 * Runs the task with the model's answers, and by default the tool results, from a golden.
 * @throws ObservatoryError `INVALID_OPTION` if the provider is not given by name; the errors of `readGolden`;
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
    // No key is needed, so do not look for one.
    { ...options, audit, apiKey: 'not-needed', signal: AbortSignal.any(signals) },
    {
      fetch: player.fetch,
      wait: () => Promise.resolve(),
      ...(liveTools ? {} : { openLink: playedLink(player.cassette), expandVariables: false }),
      finish: async () => {
        options.signal?.throwIfAborted();
        player.assertFinished();
      },
    },
  );
}

export interface ReplayOptions {
  /** Whether tool results come from the file or the tools run for real. @defaultValue 'recorded' */
  readonly tools?: 'recorded' | 'live' | undefined;
  /** @defaultValue false */
  readonly allowExpired?: boolean | undefined;
  /** Options that a file cannot hold (`gate`, `handlers`, `priceOf`), and overrides of others. */
  readonly options?: Partial<RunOptions> | undefined;
}

export interface ReplayReport {
  readonly golden: Golden;
  /** Output of the replay; null if it departed from the golden before its end. */
  readonly output: GoldenOutput | null;
  /** Differences from the golden; empty if there are none. */
  readonly findings: readonly Finding[];
}

const OPTIONS: OptionKinds<ReplayOptions> = {
  tools: oneOf('recorded', 'live'),
  allowExpired: kinds.boolean,
  options: kinds.object,
};

/**
 * Reruns a golden from its file and compares the outcome.
 *
 * @throws ObservatoryError `INVALID_OPTION` for a golden that cannot be rerun from its file; the errors of `readGolden`.
 */
export async function replayGolden(path: string, options: ReplayOptions = {}): Promise<ReplayReport> {
  checkOptions(options, OPTIONS, 'replayGolden()');
  const golden = await readGolden(path, { allowExpired: options.allowExpired });
  try {
    const output = toOutput(await run(golden, path, options));
    return { golden, output, findings: compareWithGolden(golden, output, { replayed: true }) };
  } catch (error) {
    if (!(error instanceof GoldenMismatchError)) throw error;
    const place = error.differences[0]?.place ?? 'the run';
    return {
      golden,
      output: null,
      findings: [{ place, expected: null, actual: null, message: error.message }],
    };
  }
}

async function run(golden: Golden, path: string, options: ReplayOptions): Promise<GoldenOutput> {
  const { tools, allowExpired } = options;
  if (golden.runner === 'policy_host') return await replayPolicyStep(golden, options.tools);
  if (golden.runner === 'other') {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `The golden ${path} is of a program of its own; play it with playGolden, it cannot be run from its file`,
    );
  }
  const missing = (golden.input.options_not_kept ?? []).filter((name) => !hasOption(options.options, name));
  if (missing.length > 0) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `The run of ${path} had options no file can keep (${missing.join(', ')}); give them to replayGolden, or to mcpGhost with golden: { mode: 'replay' }`,
    );
  }
  const result = await replayRun(
    { ...fromGoldenInput(golden.input), ...options.options },
    { mode: 'replay', path, tools, allowExpired },
  );
  return { ...toWire(result) };
}

function hasOption(options: object | undefined, wireName: string): boolean {
  return options !== undefined && Object.hasOwn(options, camelCase(wireName));
}

/**
 * Runs the step of a golden again.
 * @throws GoldenMismatchError for a request or call that the golden does not hold, and for unused entries.
 */
async function replayPolicyStep(
  golden: Golden,
  tools: 'recorded' | 'live' = 'recorded',
): Promise<GoldenOutput> {
  const { input } = golden;
  const options = (input.options ?? {}) as Pick<PolicyStep, 'policy' | 'summarize'> & JsonObject;
  const { policy, summarize, prompt_template_id: template } = options;
  const step: PolicyStep = {
    query: input.user_prompt ?? '',
    policy,
    provider: input.provider,
    model: input.model,
    servers: (input.server_config?.mcpServers ?? {}) as PolicyStep['servers'],
    summarize,
    promptTemplateId: typeof template === 'string' ? template : undefined,
  };
  const player = new GoldenPlayer(golden, { liveTools: tools === 'live' });
  const servers = tools === 'live' ? {} : { openLink: playedLink(player.cassette), expandVariables: false };
  try {
    const { result } = await askStep(step, { apiKey: 'not-needed', fetch: player.fetch }, servers);
    player.assertFinished();
    return askResultToWire(result);
  } catch (error) {
    // The host reports a failed planner or tool; the miss is the cause.
    throw player.failure ?? error;
  }
}
