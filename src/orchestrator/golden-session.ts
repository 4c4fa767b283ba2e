import { basename } from 'node:path';
import { ObservatoryError, VERSION } from '../base/index.ts';
import {
  CassetteRecorder,
  FORMAT_VERSION,
  GoldenPlayer,
  ModelRecorder,
  readGolden,
  Scrubber,
  type UnsealedGolden,
  writeGolden,
} from '../golden/index.ts';
import type { ConnectServersOptions } from '../mcp-client/index.ts';
import { secretsOf, toGoldenInput } from './golden-input.ts';
import type { RecordGoldenOptions, ReplayGoldenOptions } from './golden-option.ts';
import type { GhostOptions } from './options.ts';
import type { Provider, ProviderOptions } from './providers/index.ts';
import { playedLink, recordingLink } from './recorded-link.ts';
import type { GhostResult } from './result.ts';
import { toWire } from './wire.ts';

/** Days after which a recording no longer shows how a provider behaves. */
const DEFAULT_EXPIRY_DAYS = 180;
const DAY_MS = 86_400_000;

/** What a run with a golden does otherwise than one without. */
export interface GoldenSession {
  /** Options of the run in place of those given. */
  readonly options: GhostOptions;
  readonly provider: Pick<ProviderOptions, 'fetch' | 'wait'>;
  readonly servers: Pick<ConnectServersOptions, 'openLink' | 'expandVariables'>;
  /** Call with the result of the run. */
  finish(result: GhostResult, provider: Provider): Promise<void>;
}

/**
 * Begins the recording or replay that the options ask for.
 * @throws ObservatoryError `INVALID_OPTION` for a provider that is not given by name, and what `readGolden` throws.
 */
export async function openGoldenSession(options: GhostOptions): Promise<GoldenSession | undefined> {
  const { golden } = options;
  if (golden === undefined) return undefined;
  if (typeof options.provider !== 'string') {
    throw new ObservatoryError(
      'INVALID_OPTION',
      'Goldens are recorded and played at the wire, so `golden` needs `provider` to be a name, got a provider',
    );
  }
  return golden.mode === 'record' ? recording(options, golden) : await replay(options, golden);
}

function recording(options: GhostOptions, golden: RecordGoldenOptions): GoldenSession {
  const scrubber = new Scrubber();
  scrubber.add(options.apiKey);
  const model = new ModelRecorder(scrubber);
  const servers = new CassetteRecorder();
  return {
    options,
    provider: { fetch: model.fetch },
    servers: { openLink: recordingLink(servers) },
    finish: async (result, provider) => {
      for (const secret of await secretsOf(options.serverConfig)) scrubber.add(secret);
      const clean = <T>(value: T): T => scrubber.clean(value);
      const asked = options.model ?? provider.defaultModel;
      const input = await toGoldenInput(options, options.provider as string, asked, clean);
      const source = golden.source ?? (model.isFromProvider ? 'recorded' : 'scripted');
      const recordedAt = golden.recordedAt === undefined ? new Date() : golden.recordedAt;
      const content: Omit<UnsealedGolden, 'input'> = {
        format_version: FORMAT_VERSION,
        test_name: golden.testName ?? basename(golden.path, '.json'),
        description: golden.description ?? '',
        category: golden.category ?? 'happy_path',
        runner: 'mcp_ghost',
        source,
        recorded_at: recordedAt?.toISOString() ?? null,
        expires_at: expiryOf(golden, source, recordedAt),
        versions: {
          observatory: VERSION,
          sdk: model.sdk,
          models: model.models(),
          tools: servers.toolHashes(),
        },
        golden_output: { ...toWire(result) },
        comparison: { final_answer: { check: 'exact' }, matchers: {}, bounds: {}, ...golden.comparison },
        provider_responses: model.exchanges().map((exchange) => scrubber.cleanExchange(exchange)),
        mcp_cassette: servers.cassette(),
      };
      await writeGolden(golden.path, { ...clean(content), input });
    },
  };
}

async function replay(options: GhostOptions, option: ReplayGoldenOptions): Promise<GoldenSession> {
  const golden = await readGolden(option.path, { allowExpired: option.allowExpired });
  const liveTools = option.tools === 'live';
  const player = new GoldenPlayer(golden, { liveTools });
  const signals = [options.signal, player.signal].filter((signal) => signal !== undefined);
  return {
    // A key that is not needed is not read either.
    options: { ...options, apiKey: 'not-needed', signal: AbortSignal.any(signals) },
    provider: { fetch: player.fetch, wait: () => Promise.resolve() },
    servers: liveTools ? {} : { openLink: playedLink(player.cassette), expandVariables: false },
    finish: async () => player.assertFinished(),
  };
}

function expiryOf(
  golden: RecordGoldenOptions,
  source: UnsealedGolden['source'],
  recordedAt: Date | null,
): string | null {
  const days =
    golden.expiresInDays === undefined && source === 'recorded' ? DEFAULT_EXPIRY_DAYS : golden.expiresInDays;
  if (days === undefined || days === null) return null;
  if (!(Number.isFinite(days) && days > 0)) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Expected \`golden.expiresInDays\` to be a number above 0, got ${days}`,
    );
  }
  return new Date((recordedAt ?? new Date()).getTime() + days * DAY_MS).toISOString();
}
