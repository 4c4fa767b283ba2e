/**
 * Where the answers of a `GoldenModel` come from: the golden's file, or, with UPDATE_GOLDENS, the script that the golden
 * is made of.
 *
 *   UPDATE_GOLDENS=1       makes each golden that a test opens anew, in test/goldens
 *   UPDATE_GOLDENS=FOLDER  makes them in another folder, to hold them against those
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../../src/base/version.ts';
import {
  canonicalRequest,
  FORMAT_VERSION,
  type Golden,
  GoldenPlayer,
  ModelRecorder,
  readGolden,
  Scrubber,
  writeGolden,
} from '../../src/golden/index.ts';
import { type Script, ScriptedProvider } from './scripted-provider.ts';

/** Goldens of the test suites; the library for users is another one. */
export const TEST_GOLDENS: string = fileURLToPath(new URL('../../../test/goldens', import.meta.url));

/** What a request asks, beside its path. */
export type Asked = Pick<RequestInit, 'body' | 'headers'> & { readonly method: string };

export interface GoldenSource {
  /** The answer to a request; one that the golden does not hold throws. */
  answer(path: string, asked: Asked): Promise<Response>;
  /** Call when no request will follow. Throws what the golden and the run had not in common. */
  finish(): Promise<void>;
}

/** @param name of the golden's file, below the folder and without its ending. */
export async function openSource(name: string, script: Script): Promise<GoldenSource> {
  const update = process.env.UPDATE_GOLDENS ?? '';
  if (update === '') return await playing(name);
  return await making(name, script, join(update === '1' ? TEST_GOLDENS : update, `${name}.json`));
}

/**
 * What a golden says of a model: what it answered, and to what. What tools returned is left out, as in a replay with
 * live tools, and so are the versions of what took part.
 */
export function exchangesOf(golden: Pick<Golden, 'provider_responses'>): unknown {
  return golden.provider_responses.map(({ request, response }) => ({
    request: canonicalRequest(request, true),
    response,
  }));
}

async function playing(name: string): Promise<GoldenSource> {
  const player = new GoldenPlayer(await readGolden(join(TEST_GOLDENS, `${name}.json`)), { liveTools: true });
  return {
    answer: (path, asked) => player.fetch(new URL(path, 'http://127.0.0.1'), asked),
    finish: async () => player.assertFinished(),
  };
}

async function making(name: string, script: Script, file: string): Promise<GoldenSource> {
  const scripted = await ScriptedProvider.start(script);
  const scrubber = new Scrubber();
  const recorder = new ModelRecorder(scrubber);
  return {
    answer: (path, asked) => recorder.fetch(new URL(path, scripted.baseUrl('anthropic')), asked),
    async finish() {
      await scripted.close();
      const [first] = scripted.requests;
      const golden = {
        format_version: FORMAT_VERSION,
        test_name: name,
        description: '',
        category: 'edge_case',
        runner: 'other',
        source: 'scripted',
        recorded_at: null,
        expires_at: null,
        versions: { observatory: VERSION, sdk: recorder.sdk, models: recorder.models(), tools: {} },
        input: { provider: first?.api ?? 'none', model: first?.model ?? 'none' },
        golden_output: {},
        comparison: { final_answer: { check: 'any' }, matchers: {}, bounds: {} },
        provider_responses: recorder
          .exchanges()
          .map((exchange) => scrubber.cleanExchange({ ...exchange, duration_ms: 0 })),
        mcp_cassette: null,
      } as const;
      // One that says the same stays as it is: results of tools change from run to run.
      if (!saysTheSame(file, golden)) await writeGolden(file, golden);
    },
  };
}

function saysTheSame(file: string, golden: Pick<Golden, 'provider_responses'>): boolean {
  let before: Golden;
  try {
    before = JSON.parse(readFileSync(file, 'utf8')) as Golden;
  } catch {
    return false;
  }
  return JSON.stringify(exchangesOf(before)) === JSON.stringify(exchangesOf(golden));
}
