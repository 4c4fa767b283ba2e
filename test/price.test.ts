import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calcPrice, waitForUpdate } from '@pydantic/genai-prices';
import {
  type PriceInput,
  type PriceOverride,
  priceUsage,
  readUsageObject,
  readUsageUnits,
  resolvePriceOverrides,
  type TokenUsage,
  writeUsageUnits,
} from '../src/signals/index.ts';
import { sized } from './support/size.ts';

const AT = new Date('2026-02-10T12:00:00Z');

function cost(input: Partial<PriceInput>): number | undefined {
  const price = priceUsage({ at: AT, ...input });
  assert.equal(price.costUsd === undefined, /^unknown$|^unpriced: ./.test(price.costSource));
  return price.costUsd;
}

function near(actual: number | undefined, expected: number): void {
  assert.ok(actual !== undefined && Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);
}

// Published prices in dollars per million tokens, times the tokens.
test('input, output and cached tokens cost what the provider published', () => {
  // gpt-4o: 2.50, cached 1.25, output 10.
  near(cost({ model: 'gpt-4o', provider: 'openai', usage: { inputTokens: 1_000_000 } }), 2.5);
  const cached = { inputTokens: 100_000, cacheReadTokens: 90_000, outputTokens: 2000 };
  near(cost({ model: 'gpt-4o-2024-08-06', provider: 'openai', usage: cached }), 0.025 + 0.1125 + 0.02);
});

test('the models that the specification names have a price', () => {
  const models = {
    openai: ['gpt-4o', 'gpt-4o-mini', 'gpt-4-turbo', 'gpt-3.5-turbo'],
    anthropic: [
      'claude-opus-4-0',
      'claude-sonnet-4-0',
      'claude-3-7-sonnet-20250219',
      'claude-3-5-sonnet-20241022',
      'claude-3-opus-20240229',
      'claude-3-sonnet-20240229',
      'claude-3-haiku-20240307',
    ],
    'gcp.gemini': [
      'gemini-2.5-pro',
      'gemini-2.5-flash',
      'gemini-2.0-flash',
      'gemini-1.5-pro',
      'gemini-1.5-flash',
    ],
  };
  for (const [provider, names] of Object.entries(models)) {
    const unpriced = names.filter(
      (model) => !((cost({ provider, model, usage: { inputTokens: 1000, outputTokens: 1000 } }) ?? 0) > 0),
    );
    assert.deepEqual(unpriced, [], provider);
  }
});

test('writing to the cache costs 1.25 times, for an hour twice, reading a tenth (Anthropic)', () => {
  // claude-sonnet-4-5: 3, output 15, cache write 3.75, for an hour 6, read 0.30.
  const usage = {
    inputTokens: 100_000,
    cacheReadTokens: 40_000,
    cacheWriteTokens: 30_000,
    cacheWrite1hTokens: 10_000,
    outputTokens: 1000,
  };
  const expected = (30_000 * 3 + 40_000 * 0.3 + 20_000 * 3.75 + 10_000 * 6 + 1000 * 15) / 1e6;
  near(cost({ model: 'claude-sonnet-4-5-20250929', provider: 'anthropic', usage }), expected);
});

test('a transcription that is charged by its audio costs its seconds', () => {
  const usage = readUsageObject({ type: 'duration', seconds: 11 });
  near(cost({ model: 'whisper-1', provider: 'openai', usage }), (11 * 0.36) / 3600);
  near(cost({ model: 'whisper-large-v3', provider: 'groq', usage }), (11 * 0.111) / 3600);
  assert.deepEqual(readUsageUnits(JSON.parse(writeUsageUnits(usage ?? {}) ?? '')), usage);
});

test('a tier holds for the whole request, from the token after its bound', () => {
  // claude-sonnet-4-5: 3 up to 200,000 input tokens, 6 beyond; gemini-2.5-pro: 1.25 and 10, then 2.50 and 15.
  const claude = (inputTokens: number) =>
    cost({ model: 'claude-sonnet-4-5', provider: 'anthropic', usage: { inputTokens } });
  near(claude(200_000), 0.6);
  near(claude(200_001), 1.200006);
  near(claude(250_000), 1.5);
  const usage = { inputTokens: 300_000, outputTokens: 10_000 };
  near(cost({ model: 'gemini-2.5-pro', provider: 'gcp.gemini', usage }), 0.75 + 0.15);
});

test('reasoning is part of the output, and costs more or less only where the provider says so', () => {
  const usage = { inputTokens: 0, outputTokens: 1_000_000, reasoningTokens: 400_000 };
  near(cost({ model: 'gpt-4o', provider: 'openai', usage }), 10);
  // sonar-deep-research: output 8, reasoning 3.
  near(cost({ model: 'sonar-deep-research', provider: 'perplexity', usage }), 0.6 * 8 + 0.4 * 3);
});

test('a call costs what held when it began', () => {
  const o3 = (at: string) =>
    cost({
      model: 'o3',
      provider: 'openai',
      usage: { inputTokens: 1_000_000, outputTokens: 1_000_000 },
      at: new Date(at),
    });
  // o3 fell from 10 and 40 to 2 and 8 on 2025-06-10. Asked in both orders, as the cache must not mix them up.
  near(o3('2025-06-09T23:59:59.999Z'), 50);
  near(o3('2025-06-10T00:00:00Z'), 10);
  near(o3('2025-05-01T00:00:00Z'), 50);
  near(o3('2026-02-10T00:00:00Z'), 10);
});

test('a price by the time of day is that of the minute', () => {
  // deepseek-chat in 2025: input 0.27 from 00:30 to 16:30 UTC, else 0.135.
  const deepseek = (time: string) =>
    cost({
      model: 'deepseek-chat',
      provider: 'deepseek',
      usage: { inputTokens: 1_000_000 },
      at: new Date(`2025-06-01T${time}Z`),
    });
  near(deepseek('12:00:00'), 0.27);
  near(deepseek('20:00:00'), 0.135);
  near(deepseek('00:29:59'), 0.135);
  near(deepseek('00:30:00'), 0.27);
});

test('every model of the table costs what the table computes, now and then', async () => {
  const providers = (await waitForUpdate()) ?? [];
  const times = [AT, new Date('2025-05-01T03:00:00Z'), new Date('2027-01-02T08:00:00Z')];
  const usages = [
    { inputTokens: 1000, outputTokens: 500 },
    {
      inputTokens: 300_000,
      outputTokens: 9000,
      cacheReadTokens: 100_000,
      cacheWriteTokens: 50_000,
      reasoningTokens: 4000,
    },
    { inputTokens: 250_000, cacheWriteTokens: 70_000, cacheWrite1hTokens: 30_000 },
  ];
  let compared = 0;
  for (const provider of providers) {
    for (const model of provider.models.filter((_, at) => at % sized(3, 1) === 0)) {
      for (const [index, usage] of usages.entries()) {
        const at = times[(compared + index) % times.length] as Date;
        const asked = { providerId: provider.id, timestamp: at };
        const found = calcPrice({}, model.id, asked);
        const rates = found?.model_price ?? {};
        // Their output is images, which the table prices apart.
        if (model.id.startsWith('gpt-image')) continue;
        // Models that are priced by the page or the second have no price for tokens.
        if (
          rates.input_mtok === undefined ||
          // What a request costs depends on how much it searches.
          rates.requests_kcount !== undefined ||
          (usage.outputTokens !== undefined && rates.output_mtok === undefined)
        )
          continue;
        const expected = calcPrice(
          {
            input_tokens: usage.inputTokens,
            output_tokens: usage.outputTokens ?? 0,
            cache_read_tokens: usage.cacheReadTokens ?? 0,
            cache_write_tokens: usage.cacheWriteTokens ?? 0,
            cache_write_1h_tokens: usage.cacheWrite1hTokens ?? 0,
            output_reasoning_tokens: usage.reasoningTokens ?? 0,
          },
          model.id,
          asked,
        )?.total_price;
        const actual = cost({ model: model.id, provider: provider.id, usage, at });
        const lacksCached =
          usage.cacheReadTokens !== undefined &&
          rates.cache_read_mtok === undefined &&
          // Its own documentation has it.
          (provider.id !== 'mistral' || typeof rates.input_mtok !== 'number');
        if (provider.id === 'mistral' && rates.cache_read_mtok === undefined && !lacksCached) continue;
        const makesMedia =
          usage.outputTokens !== undefined &&
          [rates.output_audio_mtok, rates.output_image_mtok].some(
            (rate) => rate !== undefined && rate !== rates.output_mtok,
          );
        // The table takes the price of five minutes where it has none for an hour, and that of text for what is cached
        // and for media of which no count tells; that is not what these cost.
        if (
          lacksCached ||
          makesMedia ||
          (usage.cacheWrite1hTokens !== undefined &&
            rates.cache_write_mtok !== undefined &&
            rates.cache_write_1h_mtok === undefined)
        ) {
          assert.equal(actual, undefined, `${provider.id} ${model.id}`);
          continue;
        }
        assert.ok(
          actual !== undefined &&
            expected !== undefined &&
            Math.abs(actual - expected) <= 1e-12 * Math.max(1, expected),
          `${provider.id} ${model.id}: ${actual} is not ${expected}`,
        );
        compared += 1;
      }
    }
  }
  assert.ok(compared > sized(1000, 3000), `only ${compared} prices were compared`);
});

test('providers are known by their names in the semantic conventions', () => {
  const usage = { inputTokens: 1_000_000 };
  for (const [provider, model] of [
    ['openai', 'gpt-4o'],
    ['anthropic', 'claude-sonnet-4-5'],
    ['gcp.gemini', 'gemini-2.5-flash'],
    ['gcp.gemini', 'models/gemini-2.5-flash'],
    ['gcp.vertex_ai', 'gemini-2.5-flash'],
    ['gcp.vertex_ai', 'claude-3-5-haiku@20241022'],
    ['gcp.gen_ai', 'gemini-2.5-flash'],
    ['azure.ai.openai', 'gpt-4o'],
    ['azure.ai.inference', 'gpt-4o-mini'],
    ['aws.bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['cohere', 'command-r-plus'],
    ['mistral_ai', 'mistral-large-latest'],
    ['groq', 'llama-3.3-70b-versatile'],
    ['deepseek', 'deepseek-chat'],
    ['perplexity', 'sonar-deep-research'],
    ['x_ai', 'grok-4'],
    ['moonshot_ai', 'kimi-k2'],
    ['api.x.ai', 'grok-4'],
    ['generativelanguage.googleapis.com', 'gemini-2.5-flash'],
    [undefined, 'gpt-4o'],
    [undefined, 'openai/gpt-4o'],
  ] as const) {
    assert.equal(
      priceUsage({ usage, provider, model, at: AT }).costSource,
      'genai-prices',
      `${provider} ${model}`,
    );
  }
});

test('the address of the request tells whose prices hold', () => {
  const usage = { inputTokens: 1_000_000 };
  const groq = { provider: 'openai', model: 'llama-3.3-70b-versatile', usage };
  assert.equal(cost(groq), undefined);
  near(cost({ ...groq, providerApiUrl: 'https://api.groq.com/openai/v1' }), 0.59);
  // An address that the table does not know leaves it to the provider's name.
  near(cost({ provider: 'openai', model: 'gpt-4o', usage, providerApiUrl: 'http://127.0.0.1:4010/v1' }), 2.5);
});

test('what is not known has no cost', () => {
  const usage = { inputTokens: 10, outputTokens: 10 };
  for (const input of [
    {},
    { usage },
    { model: 'gpt-4o' },
    { usage, model: '' },
    { usage, model: 'no-such-model', provider: 'openai' },
    { usage, model: 'gpt-4o', provider: 'ibm.watsonx.ai' },
    { usage, model: 'gpt-4o', provider: 'my-gateway' },
    { usage, model: 'o3', provider: 'openai', at: new Date('no date') },
  ]) {
    assert.deepEqual(priceUsage({ at: AT, ...input }), { costSource: 'unknown' }, JSON.stringify(input));
  }
});

const PREVIEW = { webSearches: 1, modes: ['tool web_search_preview'] };

test('a search of OpenAI in its older form costs what others do in a model that reasons', () => {
  const usage = { inputTokens: 1000, outputTokens: 100, ...PREVIEW };
  near(cost({ model: 'gpt-5', provider: 'openai', usage }), 0.00125 + 0.001 + 0.01);
});

test('a host without a published price has none for a model of another maker', () => {
  for (const provider of ['vllm', 'ollama']) {
    const input = { usage: { inputTokens: 10 }, model: 'openai/gpt-oss-120b', provider, at: AT };
    assert.deepEqual(priceUsage(input), { costSource: 'unknown' });
  }
});

test('what has no price is said', () => {
  const sonnet = { model: 'claude-sonnet-4-5', provider: 'anthropic' };
  const usage = { inputTokens: 10, outputTokens: 10 };
  for (const [input, missing] of [
    // Priced by the page, not by the token.
    [{ usage, model: 'mistral-ocr-latest', provider: 'mistral_ai' }, 'input'],
    [{ ...sonnet, usage: { outputTokens: 1 } }, 'tokens'],
    [{ ...sonnet, usage: { ...usage, disagrees: true } }, 'tokens_disagree'],
    [{ ...sonnet, usage: { ...usage, modes: ['speed fast'] } }, 'speed fast'],
    [{ ...sonnet, usage, serviceTier: 'priority' }, 'tier priority'],
    [{ ...sonnet, usage: { ...usage, outputAudioTokens: 1 } }, 'output_audio'],
    [{ usage: { ...usage, webSearches: 1 }, model: 'grok-4', provider: 'x_ai' }, 'web_search'],
    [{ usage: { ...usage, webSearches: 1 }, model: 'gpt-4.1-mini', provider: 'openai' }, 'web_search'],
    [{ usage: { ...usage, ...PREVIEW }, model: 'gpt-4.1', provider: 'openai' }, 'tool web_search_preview'],
    [{ usage, model: 'sonar', provider: 'perplexity' }, 'request_fee'],
    [{ usage: { audioSeconds: 11 }, model: 'gpt-4o', provider: 'openai' }, 'audio_seconds'],
    [
      {
        model: 'gemini-2.5-flash',
        provider: 'gcp.gemini',
        usage: { inputTokens: 10, inputAudioTokens: 5, cacheReadTokens: 5 },
      },
      'cached_audio',
    ],
  ] as const) {
    assert.deepEqual(priceUsage({ at: AT, ...input }), { costSource: `unpriced: ${missing}` });
  }
});

test('a usage that contradicts itself has no cost, and nothing throws', () => {
  for (const usage of [
    {},
    { outputTokens: 10 },
    { inputTokens: 10, cacheReadTokens: 11 },
    { inputTokens: 10, cacheReadTokens: 6, cacheWriteTokens: 6 },
    { inputTokens: 10, cacheWriteTokens: 2, cacheWrite1hTokens: 3 },
    { inputTokens: 10, outputTokens: 5, reasoningTokens: 6 },
    { inputTokens: -1 },
    { inputTokens: Number.NaN },
    { inputTokens: Number.POSITIVE_INFINITY },
    { inputTokens: '10' as unknown as number },
  ]) {
    assert.equal(
      cost({ model: 'claude-sonnet-4-5', provider: 'anthropic', usage }),
      undefined,
      JSON.stringify(usage),
    );
  }
});

test('a cost of the provider goes before everything, unless it is no cost', () => {
  const input = { model: 'gpt-4o', provider: 'openai', usage: { inputTokens: 1_000_000 }, at: AT };
  assert.deepEqual(priceUsage({ ...input, providerCostUsd: 0 }), { costUsd: 0, costSource: 'provider' });
  assert.deepEqual(priceUsage({ providerCostUsd: 0.25, at: AT }), { costUsd: 0.25, costSource: 'provider' });
  for (const providerCostUsd of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.equal(priceUsage({ ...input, providerCostUsd }).costSource, 'genai-prices');
  }
});

test('prices of the user go before the table, the first that names the model', () => {
  const rates = { inputUsdPerMillion: 1, outputUsdPerMillion: 4 };
  const overrides = resolvePriceOverrides([
    {
      model: 'gpt-4o',
      provider: 'azure.ai.openai',
      ...rates,
      cacheReadUsdPerMillion: 0.5,
      reasoningUsdPerMillion: 4,
    },
    { model: 'GPT-*-mini', inputUsdPerMillion: 7, outputUsdPerMillion: 0 },
    { model: '*house*7b*', inputUsdPerMillion: 8, outputUsdPerMillion: 0 },
  ]);
  const usage = {
    inputTokens: 1_000_000,
    cacheReadTokens: 500_000,
    outputTokens: 1_000_000,
    reasoningTokens: 1,
  };
  const priced = (model: string, provider?: string) =>
    priceUsage({ usage, model, provider, at: AT, overrides });
  const azure = priced('gpt-4o', 'azure.ai.openai');
  assert.equal(azure.costSource, 'override');
  near(azure.costUsd, 0.5 + 0.25 + 4);
  near(priced('gpt-4o', 'openai').costUsd, 1.25 + 0.625 + 10);
  assert.deepEqual(priced('gpt-4o-mini', 'openai'), { costUsd: 7, costSource: 'override' });
  assert.deepEqual(priced('my-House-of-7B'), { costUsd: 8, costSource: 'override' });
  for (const model of ['gpt-mini', 'my-7b-house', 'house-7'])
    assert.equal(priced(model).costSource, 'unknown', model);
});

test('an override that cannot be used is refused by its place, key and value', () => {
  const good: PriceOverride = { model: 'm', inputUsdPerMillion: 1, outputUsdPerMillion: 1 };
  for (const [overrides, message] of [
    [{}, /array.*an object/],
    [[good, null], /override 1.*null/],
    [[{ ...good, model: '' }], /`model` of price override 0/],
    [[{ ...good, provider: 1 }], /`provider`.*1 \(number\)/],
    [[{ model: 'm', inputUsdPerMillion: 1 }], /outputUsdPerMillion.*undefined/],
    [[{ ...good, cacheReadUsdPerMillion: -1 }], /cacheReadUsdPerMillion.*-1/],
    [[{ ...good, inputUsdPerMillion: Number.NaN }], /inputUsdPerMillion.*NaN/],
    [[{ ...good, input: 1 }], /Unknown key `input`/],
  ] as const) {
    assert.throws(() => resolvePriceOverrides(overrides as never), { code: 'INVALID_OPTION', message });
  }
});

test('service tiers cost their published part, and nothing is said of the others', () => {
  const usage = { inputTokens: 1_000_000 };
  const openai = { model: 'gpt-4o', provider: 'openai', usage };
  near(cost({ ...openai, serviceTier: 'default' }), 2.5);
  near(cost({ ...openai, serviceTier: 'flex' }), 1.25);
  near(cost({ ...openai, serviceTier: 'batch' }), 1.25);
  assert.equal(cost({ ...openai, serviceTier: 'priority' }), undefined);
  const anthropic = { model: 'claude-3-5-haiku-20241022', provider: 'anthropic', usage };
  near(cost({ ...anthropic, serviceTier: 'standard' }), 0.8);
  near(cost({ ...anthropic, serviceTier: 'batch' }), 0.4);
  assert.equal(cost({ ...anthropic, serviceTier: 'flex' }), undefined);
});

test('modes and places cost their published part, and what is not published has no cost', () => {
  const text = { inputTokens: 100_000 };
  const priced = (model: string, provider: string, usage: TokenUsage, more: Partial<PriceInput> = {}) =>
    priceUsage({
      model,
      provider,
      usage: { ...text, ...usage },
      at: new Date('2026-11-01T00:00:00Z'),
      ...more,
    });
  const eu = { providerApiUrl: 'https://eu.api.openai.com' };
  const vertex = { providerApiUrl: 'https://us-east5-aiplatform.googleapis.com' };
  for (const [price, right] of [
    [priced('claude-opus-4-6', 'anthropic', { modes: ['geo us'] }), 5.5],
    [priced('claude-opus-4-6', 'anthropic', { modes: ['geo us'] }, { serviceTier: 'batch' }), 2.75],
    [priced('claude-opus-4-6', 'anthropic', { modes: ['geo eu'] }), 'geo eu'],
    [priced('gemini-2.5-flash', 'gcp.gemini', { modes: ['tier flex'] }), 0.15],
    [priced('gemini-2.5-flash', 'gcp.vertex_ai', { modes: ['traffic ON_DEMAND_FLEX'] }), 0.15],
    // Said twice, halved once.
    [
      priced(
        'gemini-2.5-flash',
        'gcp.gemini',
        { modes: ['traffic ON_DEMAND_FLEX'] },
        { serviceTier: 'flex' },
      ),
      0.15,
    ],
    // Cached tokens of this model cost the same in flex.
    [priced('gemini-2.5-flash', 'gcp.gemini', { modes: ['tier flex'], cacheReadTokens: 10 }), 'tier flex'],
    [priced('gemini-2.5-flash', 'gcp.gemini', {}, { serviceTier: 'priority' }), 'tier priority'],
    [priced('gpt-4o-2024-08-06', 'openai', {}, { serviceTier: 'flex' }), 1.25],
    [priced('gpt-5.4', 'openai', {}, { serviceTier: 'flex' }), 'tier flex'],
    [priced('gpt-4o-2024-08-06', 'openai', {}, eu), 2.5],
    [priced('gpt-5.5-2026-04-23', 'openai', {}, eu), 5.5],
    [priced('gpt-5.5', 'openai', {}, eu), 'region eu'],
    // As Vertex AI is asked, and as it answers.
    [priced('claude-sonnet-4@20250514', 'gcp.vertex_ai', {}, vertex), 3],
    [priced('claude-sonnet-4-20250514', 'gcp.vertex_ai', {}, vertex), 3],
    [priced('claude-opus-4-1-20250805', 'gcp.vertex_ai', {}, vertex), 15],
    [priced('claude-haiku-4-5-20251001', 'gcp.vertex_ai', {}, vertex), 1.1],
    [
      priced('anthropic.claude-3-5-haiku-20241022-v1:0', 'aws.bedrock', { modes: ['latency optimized'] }),
      'latency optimized',
    ],
  ] as const) {
    if (typeof right === 'string') assert.deepEqual(price, { costSource: `unpriced: ${right}` });
    else near(price.costUsd, right / 10);
  }
});

test('more models than the cache holds are priced all the same', () => {
  for (let i = 0; i < 2500; i += 1)
    assert.equal(cost({ model: `none-${i}`, provider: 'openai', usage: { inputTokens: 1 } }), undefined);
  near(cost({ model: 'gpt-4o', provider: 'openai', usage: { inputTokens: 1_000_000 } }), 2.5);
});

test('a member that is no count of tokens adds nothing to the input, and a lifetime is read in any case', () => {
  const counts = { prompt_tokens: 100, completion_tokens: 10 };
  const read = readUsageObject({ ...counts, cached_at: 1_700_000_000, cache_hits: 1, cached: true });
  assert.deepEqual([read?.inputTokens, read?.cacheReadTokens], [100, undefined]);
  const written = { ephemeral5mInputTokens: 10, ephemeral1hInputTokens: 20 };
  const camel = { inputTokens: 5, outputTokens: 1, cacheCreationInputTokens: 30, cacheCreation: written };
  const usage = readUsageObject(camel);
  assert.deepEqual([usage?.cacheWriteTokens, usage?.cacheWrite1hTokens], [30, 20]);
});
