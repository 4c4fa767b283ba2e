/**
 * Where the answers of a `GoldenModel` come from: the golden's file, or, with UPDATE_GOLDENS, the script that the golden
 * is made of.
 *
 *   UPDATE_GOLDENS=1       makes each golden that a test opens anew, in test/goldens
 *   UPDATE_GOLDENS=FOLDER  makes them in another folder, to hold them against those
 */

import { isDeepStrictEqual } from 'node:util';
import { VERSION } from '../../src/base/version.ts';
import {
  canonicalRequest,
  type Golden,
  GoldenPlayer,
  ModelRecorder,
  Scrubber,
} from '../../src/golden/index.ts';
import { type Script, ScriptedProvider } from './scripted-provider.ts';
import { readTestGolden, TEST_GOLDENS, writeTestGolden } from './test-golden.ts';

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
  return await making(name, script, update === '1' ? TEST_GOLDENS : update);
}

/**
 * What a golden says of a model: what it answered, and to what. What tools returned is left out, as in a replay with
 * live tools, and so are the versions of what took part.
 */
export function exchangesOf(golden: Pick<Golden, 'provider_responses'>): unknown {
  return golden.provider_responses.map(({ request, response }) => ({
    request: canonicalRequest(request, { tools: true }),
    response,
  }));
}

async function playing(name: string): Promise<GoldenSource> {
  const player = new GoldenPlayer(await readTestGolden(name), { liveTools: true });
  return {
    answer: (path, asked) => player.fetch(new URL(path, 'http://127.0.0.1'), asked),
    finish: async () => player.assertFinished(),
  };
}

async function making(name: string, script: Script, folder: string): Promise<GoldenSource> {
  const scripted = await ScriptedProvider.start(script);
  const scrubber = new Scrubber();
  const recorder = new ModelRecorder(scrubber);
  return {
    answer: (path, asked) => recorder.fetch(new URL(path, scripted.baseUrl('anthropic')), asked),
    async finish() {
      await scripted.close();
      const [first] = scripted.requests;
      const golden = {
        test_name: name,
        versions: { observatory: VERSION, sdk: recorder.sdk, models: recorder.models(), tools: {} },
        input: { provider: first?.api ?? 'none', model: first?.model ?? 'none' },
        provider_responses: await Promise.all(
          recorder.exchanges().map((exchange) => scrubber.cleanExchange({ ...exchange, duration_ms: 0 })),
        ),
      };
      // One that says the same stays as it is: results of tools change from run to run.
      const before = await readTestGolden(name, folder).catch(() => undefined);
      const isSame = before !== undefined && isDeepStrictEqual(exchangesOf(before), exchangesOf(golden));
      if (!isSame) writeTestGolden(name, folder, golden);
    },
  };
}
