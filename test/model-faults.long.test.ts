/** Faults of ours at every possible point must leave the user's call unchanged. */
// Runs alone: it hooks model SDKs as they load, which happens once in a process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { modelGuard } from '../src/instrumentation/shared/guard.ts';
import { anthropicSdk, googleSdk, openaiSdk } from './support/model-sdks.ts';
import { ProviderServer } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry();
const openaiInstrumentation = new OpenAIInstrumentation();
new AnthropicInstrumentation({ native: 'suppress' });
new GoogleGenAIInstrumentation();
const SDKS = [openaiSdk(), anthropicSdk(), googleSdk()];
const unhandled: unknown[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(reason));
diag.setLogger({ error() {}, warn() {}, info() {}, debug() {}, verbose() {} }, DiagLogLevel.ALL);

let provider: ProviderServer;
before(async () => {
  provider = await ProviderServer.start();
});
after(async () => {
  await provider[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

for (const sdk of SDKS) {
  test(`${sdk.name}: a fault at any point changes nothing for the caller`, async (t) => {
    const ways: Record<string, () => Promise<unknown>> = {
      read: async () => {
        provider.answer({ events: sdk.events(['a', 'b']) });
        return collect(await sdk.stream(provider.url));
      },
      break: async () => {
        provider.answer({ events: sdk.events(['a', 'b']), pauseMs: 1 });
        for await (const chunk of await sdk.stream(provider.url)) return chunk;
      },
      helper: async () => {
        provider.answer({ events: sdk.events(['a', 'b']) });
        await sdk.helper(provider.url);
      },
      cut: async () => {
        provider.answer({ events: sdk.events(['a', 'b', 'c']), pauseMs: 2, cutAfter: 2 });
        return outcome(async () => collect(await sdk.stream(provider.url)));
      },
      refused: async () => {
        provider.answer({ status: 400, body: { error: { message: 'no', type: 'bad', code: 'bad' } } });
        return outcome(() => sdk.stream(provider.url));
      },
    };
    let points = 0;
    for (const [way, run] of Object.entries(ways)) {
      const passed = new Set<string>();
      modelGuard.injectFaults((point) => passed.add(point));
      const expected = await run();
      points += passed.size;
      for (const faulty of passed) {
        let thrown = 0;
        modelGuard.injectFaults((point) => {
          if (point !== faulty) return;
          thrown++;
          throw new Error('a fault of ours');
        });
        assert.deepEqual(await run(), expected, `${way}, fault at ${faulty}`);
        assert.ok(thrown > 0, `${way}: ${faulty} was not reached`);
      }
      modelGuard.injectFaults(undefined);
    }
    t.diagnostic(`${points} faults injected`);
    assert.ok(points >= 10, `only ${points} points`);
    assert.deepEqual(unhandled, []);
  });
}

test('a tracer, a span and a meter that throw at every turn change nothing for the caller', async () => {
  const hostile: object = new Proxy(() => hostile, {
    get: () => {
      throw new Error('hostile telemetry');
    },
  });
  const throwing = () => {
    throw new Error('hostile telemetry');
  };
  for (const getTracer of [() => ({ startSpan: throwing }), () => ({ startSpan: () => hostile })]) {
    openaiInstrumentation.setTracerProvider({ getTracer } as never);
    const [sdk] = SDKS;
    provider.answer({ events: sdk?.events(['a', 'b']) ?? [] });
    const chunks = await collect(await (sdk?.stream(provider.url) ?? Promise.reject(new Error('no SDK'))));
    assert.equal(chunks.length, 4);
  }
});

test('an SDK of another shape loads as it is', () => {
  const load = () =>
    [{}, null, undefined, 7, { OpenAI: null }, { OpenAI: { Chat: {} } }, { Models: class {} }].map(
      (exports) => {
        new OpenAIInstrumentation().getModuleDefinitions()[0]?.patch?.(exports, '7.99.0');
        new AnthropicInstrumentation().getModuleDefinitions()[0]?.patch?.(exports, '1.99.0');
        return new GoogleGenAIInstrumentation().getModuleDefinitions()[0]?.patch?.(exports, '3.99.0');
      },
    );
  assert.doesNotThrow(load);
});

test('a body whose fields throw goes through to the SDK', async () => {
  const require = createRequire(import.meta.url);
  const { OpenAI } = require('openai') as typeof import('openai');
  const client = new OpenAI({ apiKey: 'x', baseURL: `${provider.url}/v1`, maxRetries: 0 });
  provider.answer({ body: { id: 'x', choices: [] } });
  let reads = 0;
  const body = {
    messages: [],
    get model(): string {
      if (reads++ === 0) throw new Error('not yet');
      return 'm';
    },
  };
  assert.deepEqual((await client.chat.completions.create(body)).choices, []);
});

async function collect(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const chunks: unknown[] = [];
  // Headers of the response name the time.
  for await (const chunk of stream) chunks.push({ ...(chunk as object), sdkHttpResponse: undefined });
  return chunks;
}

async function outcome(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return `${(error as Error).constructor.name}: ${(error as Error).message}`;
  }
}
