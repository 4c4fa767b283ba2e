/** Model SDKs instrumented manually, as in a bundled program: once, twice, and in addition to the hooks. */
// Runs alone: it hooks model SDKs as they load, which happens once in a process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { hookedModules } from '../src/instrumentation/shared/index.ts';
import { duringTests } from './support/during-tests.ts';
import { anthropicSdk, googleSdk, openaiSdk } from './support/model-sdks.ts';
import type { ProviderServer } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

// The SDKs are loaded before any hook is there.
const openai = openaiSdk();
const anthropic = anthropicSdk();
const google = googleSdk();
const { OpenAI } = await import('openai');
const { Anthropic } = await import('@anthropic-ai/sdk');

const telemetry = new Telemetry();
const CASES = [
  {
    sdk: openai,
    instrumentation: new OpenAIInstrumentation(),
    modules: [openai.client('http://127.0.0.1').constructor, { OpenAI }],
  },
  {
    sdk: anthropic,
    instrumentation: new AnthropicInstrumentation({ native: 'suppress' }),
    modules: [anthropic.client('http://127.0.0.1').constructor, { Anthropic }],
  },
  { sdk: google, instrumentation: new GoogleGenAIInstrumentation(), modules: [google.module] },
];

let provider: ProviderServer;
duringTests(telemetry, (started) => {
  provider = started;
});

/** Without the spans that an SDK makes by itself. */
const ours = () =>
  telemetry.spans.filter(({ instrumentationScope }) =>
    instrumentationScope.name.startsWith('mcp-observatory'),
  );

for (const { sdk, instrumentation, modules } of CASES) {
  test(`${sdk.name}: an SDK loaded before the hooks is traced when it is handed over, and twice is once`, async () => {
    provider.answer({ events: sdk.events(['one', 'two']) });
    for await (const _ of await sdk.stream(provider.url));
    assert.equal(ours().length, 0);
    for (const module of [...modules, ...modules]) instrumentation.manuallyInstrument(module);
    for await (const _ of await sdk.stream(provider.url));
    assert.deepEqual(
      ours().map(({ attributes }) => attributes['gen_ai.usage.output_tokens']),
      [20],
    );
  });
}

test('a module is found in every form it may be handed over in', () => {
  const require = createRequire(import.meta.url);
  const [forOpenAI, forAnthropic, forGoogle] = CASES.map(({ instrumentation }) => instrumentation);
  const forms: [(typeof CASES)[number]['instrumentation'] | undefined, object[]][] = [
    [forOpenAI, [require('openai'), OpenAI, { OpenAI }, { default: OpenAI, OpenAI }]],
    // Required it is a function that makes clients, and not the class.
    [forAnthropic, [require('@anthropic-ai/sdk'), Anthropic, { Anthropic }]],
    [forGoogle, [require('@google/genai')]],
  ];
  for (const [instrumentation, modules] of forms) {
    for (const module of modules) {
      instrumentation?.manuallyInstrument(module);
      assert.deepEqual(hookedModules().at(-1)?.missing, []);
    }
  }
});
