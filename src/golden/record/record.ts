import { basename } from 'node:path';
import { errorMessage, ObservatoryError, VERSION, warnVisibly } from '../../base/index.ts';
import { type GhostResult, type RunOptions, runGhost, toWire } from '../../orchestrator/index.ts';
import {
  type ComparisonRules,
  EXPIRY_DAYS,
  FORMAT_VERSION,
  type GoldenCategory,
  type GoldenSource,
  readSecrets,
  Scrubber,
  toGoldenInput,
  toolHashes,
  type UnsealedGolden,
  writeGolden,
} from '../file/index.ts';
import { CassetteRecorder, recordingLink } from './cassette-recorder.ts';
import { ModelRecorder } from './model-recorder.ts';

const DAY_MS = 86_400_000;

/** Records the run to a file. It is written at the end of the run, successful or not, but not after an abort. */
export interface RecordGoldenOptions {
  readonly mode: 'record';
  /** File to write. */
  readonly path: string;
  /** @defaultValue the name of the file, without `.json` */
  readonly testName?: string | undefined;
  /** One sentence on what the golden demonstrates. */
  readonly description?: string | undefined;
  /** @defaultValue 'happy_path' */
  readonly category?: GoldenCategory | undefined;
  /**
   * Where the answers come from; set it when using a gateway. By default `recorded` if every request went to the
   * provider's own API, else `scripted`.
   */
  readonly source?: GoldenSource | undefined;
  /** Days until the golden expires, or `null`. @defaultValue 180 for recorded goldens, `null` for scripted ones */
  readonly expiresInDays?: number | null | undefined;
  /** How later runs are compared with this one. @defaultValue the exact answer, no matchers, no bounds */
  readonly comparison?: Partial<ComparisonRules> | undefined;
  /** Date of the recording; `null` to omit it. @defaultValue the current time */
  readonly recordedAt?: Date | null | undefined;
}

export class RunRecorder {
  readonly scrubber: Scrubber = new Scrubber();
  readonly model: ModelRecorder = new ModelRecorder(this.scrubber);
  readonly servers: CassetteRecorder = new CassetteRecorder();

  /** The recorded parts of the golden, without secrets. */
  async parts(): Promise<
    Pick<UnsealedGolden, 'format_version' | 'source' | 'versions' | 'provider_responses' | 'mcp_cassette'>
  > {
    const { model, servers, scrubber } = this;
    const exchanges: UnsealedGolden['provider_responses'][number][] = [];
    for (const exchange of model.exchanges()) exchanges.push(await scrubber.cleanExchange(exchange));
    const cassette = servers.cassette();
    return {
      format_version: FORMAT_VERSION,
      source: model.isFromProvider ? 'recorded' : 'scripted',
      versions: {
        observatory: VERSION,
        sdk: model.sdk,
        models: model.models(),
        tools: toolHashes(cassette),
      },
      provider_responses: exchanges,
      mcp_cassette: await scrubber.cleanLarge(cassette),
    };
  }
}

/**
 * Runs the task and writes its golden. Of a run that no golden can hold (a result nested too deep) the result says why in
 * `goldenProblem`, and nothing is written.
 * @throws ObservatoryError `INVALID_OPTION` if the provider is not given by name; the errors of writing the file.
 */
export async function recordRun(options: RunOptions, golden: RecordGoldenOptions): Promise<GhostResult> {
  const recorder = new RunRecorder();
  const { scrubber } = recorder;
  scrubber.add(options.apiKey);
  const write = async (result: GhostResult): Promise<void> => {
    // Half a run cannot be replayed.
    if (options.signal?.aborted === true) return;
    for (const secret of await readSecrets(options.serverConfig)) scrubber.add(secret);
    scrubber.addEnvironment(process.env);
    const clean = <T>(value: T): Promise<T> => scrubber.cleanLarge(value);
    const { model } = result.executionMetadata;
    const input = await toGoldenInput(options, String(options.provider), model, clean);
    const parts = await recorder.parts();
    const source = golden.source ?? parts.source;
    const recordedAt = golden.recordedAt === undefined ? new Date() : golden.recordedAt;
    await writeGolden(golden.path, {
      ...parts,
      ...(await clean({
        test_name: golden.testName ?? basename(golden.path, '.json'),
        description: golden.description ?? '',
        category: golden.category ?? 'happy_path',
        runner: 'mcp_ghost' as const,
        source,
        recorded_at: recordedAt?.toISOString() ?? null,
        expires_at: readExpiry(golden, source, recordedAt),
        golden_output: { ...toWire(result) },
        comparison: { final_answer: { check: 'exact' }, matchers: {}, bounds: {}, ...golden.comparison },
      })),
      input,
    });
  };
  let goldenProblem: string | undefined;
  const finish = async (result: GhostResult): Promise<void> => {
    try {
      await write(result);
    } catch (error) {
      if (!isAboutContent(error)) throw error;
      goldenProblem = errorMessage(error);
      warnVisibly(`mcp-observatory: The golden ${golden.path} is not written: ${goldenProblem}`);
    }
  };
  const result = await runGhost(options, {
    fetch: recorder.model.fetch,
    openLink: recordingLink(recorder.servers),
    finish,
  });
  if (goldenProblem === undefined) return result;
  return { ...result, executionMetadata: { ...result.executionMetadata, goldenProblem } };
}

/** Whether what servers or the provider said cannot be written as a golden; a `RangeError` comes of deep nesting. */
function isAboutContent(error: unknown): boolean {
  const isRefused = ObservatoryError.isInstance(error) && error.code === 'INVALID_INPUT';
  return isRefused || error instanceof RangeError;
}

/** When a golden expires; null for never. */
export function readExpiry(
  golden: Pick<RecordGoldenOptions, 'expiresInDays'>,
  source: UnsealedGolden['source'],
  recordedAt: Date | null,
): string | null {
  const days =
    golden.expiresInDays === undefined && source === 'recorded' ? EXPIRY_DAYS : golden.expiresInDays;
  if (days === undefined || days === null) return null;
  if (!(Number.isFinite(days) && days > 0)) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Expected \`golden.expiresInDays\` to be a number above 0, got ${days}`,
    );
  }
  return new Date((recordedAt ?? new Date()).getTime() + days * DAY_MS).toISOString();
}
