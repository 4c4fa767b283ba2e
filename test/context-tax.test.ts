// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, afterEach, before, describe, test } from 'node:test';
import type { OpenAI } from 'openai';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import {
  holdsTextAlone,
  type Interaction,
  noteListedTools,
  parseRequest,
  readOfferedTools,
} from '../src/interaction/index.ts';
import { findPlainRequest } from '../src/interaction/plain-request.ts';
import { ContextTax } from '../src/processor/context-tax.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { definitionText, estimateTokens } from '../src/signals/index.ts';
import { needsData } from './support/data.ts';
import { duringFile } from './support/model-hooks.ts';
import { ProviderServer } from './support/provider-server.ts';
import { truthOf } from './support/recorded-truth.ts';
import { exchanges, type Json } from './support/recordings.ts';
import { Telemetry } from './support/telemetry.ts';
import { waitUntil } from './support/wait-until.ts';

const SEARCH = {
  name: 'search',
  description: 'Finds pages.\n\n  Args:\n    query: what to find\n',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to find' },
      in: { enum: ['title', 'text'] },
      pages: { type: 'array', items: { type: 'integer' }, default: [1] },
    },
    required: ['query'],
  },
};
const PRICE = { model: 'gpt-4o', provider: 'openai', at: new Date('2026-11-01') };
const call = (tools: unknown, more: Partial<Interaction> = {}): Interaction => ({
  tools,
  provider: 'openai',
  model: 'gpt-4o',
  usage: { inputTokens: 10_000, outputTokens: 10 },
  ...more,
});

test('a definition is counted in the form that the models of its provider read', () => {
  const view = { name: SEARCH.name, description: SEARCH.description, schema: SEARCH.inputSchema };
  assert.equal(
    definitionText(view, 'typescript'),
    [
      '// Finds pages.',
      '// Args:',
      '// query: what to find',
      'type search = (_: {',
      '// What to find',
      'query: string,',
      'in?: "title" | "text",',
      'pages?: number[], // default: [1]',
      '}) => any;\n\n',
    ].join('\n'),
  );
  assert.deepEqual(JSON.parse(definitionText(view, 'json')), view);
});

test('tools are read in the form of each provider; deferred ones are not offered', () => {
  const { name, description, inputSchema: schema } = SEARCH;
  const definition = { name, description, schema };
  const forms: readonly unknown[] = [
    [{ type: 'function', function: { name, description, parameters: schema } }],
    [{ type: 'function', name, description, parameters: schema }],
    [{ name, description, input_schema: schema }],
    [{ functionDeclarations: [{ name, description, parametersJsonSchema: schema }] }],
    [SEARCH],
    JSON.stringify([{ type: 'function', name, description, parameters: schema }]),
    [JSON.stringify({ type: 'function', name, description, inputSchema: schema })],
    [SEARCH, { ...SEARCH, name: 'later', defer_loading: true }],
  ];
  for (const form of forms)
    assert.deepEqual(
      readOfferedTools(form).map((tool) => tool.definition),
      [definition],
    );
  const own = readOfferedTools([{ type: 'web_search' }, { googleSearch: {} }]);
  assert.deepEqual(
    own.map(({ name, definition }) => [name, definition]),
    [
      ['web_search', undefined],
      ['googleSearch', undefined],
    ],
  );
});

describe('recorded calls', needsData('cassettes'), () => {
  const PROVIDERS: Readonly<Record<string, string>> = { gemini: 'gcp.gemini' };
  /** Calls with tools of the application, and the input tokens that their provider counted. */
  const calls = () =>
    exchanges(['openai', 'anthropic', 'gemini']).flatMap((row) => {
      const body = row.request?.body as Json;
      // A request to count tokens has no answer.
      if (row.request?.path.includes('count_tokens') === true) return [];
      const offered = readOfferedTools(body?.tools);
      const inputTokens = truthOf(row).usage?.inputTokens;
      if (inputTokens === undefined || offered.length === 0) return [];
      if (offered.some(({ definition }) => definition === undefined)) return [];
      const messages = body.messages ?? body.input ?? body.contents;
      const isPlain = holdsTextAlone(messages) && body.previous_response_id === undefined;
      const plainRequest = isPlain ? findPlainRequest(parseRequest(body)) : undefined;
      const model = row.model ?? '';
      const provider = PROVIDERS[row.provider] ?? row.provider;
      return [{ id: row.id, tools: body.tools, model, provider, usage: { inputTokens }, plainRequest }];
    });
  /** Tokens of the messages, by the vocabulary of OpenAI, and by how much more another provider may count. */
  const messageTokens = ({ model, plainRequest }: Interaction) => {
    const texts = plainRequest?.texts ?? [];
    const isKnown = /^(gpt|o\d)/.test(model ?? '');
    const tokens = texts.reduce((sum, text) => sum + estimateTokens(text, isKnown ? model : 'gpt-4o'), 0);
    return isKnown ? [tokens + 4 * texts.length + 3] : [tokens, 1.45 * tokens + 8];
  };

  test("definitions take what is left of the provider's own count without the messages, within 5 %", async () => {
    const tax = new ContextTax();
    let compared = 0;
    let tools = 0;
    for (const each of calls()) {
      tax.prepare(each.tools, each.model);
      await tax.settled();
      const { offered_tools_tokens: tokens = 0, offered_tools } = tax.fieldsOf(each, PRICE);
      if (each.plainRequest === undefined) continue;
      const counts = messageTokens(each).map((text) => each.usage.inputTokens - text);
      const [high, low] = [Math.max(...counts), Math.max(0, Math.min(...counts))];
      // A token more or less is more than 5 % of the smallest.
      assert.ok(
        tokens >= Math.floor(0.95 * low) - 1 && tokens <= Math.ceil(1.05 * high) + 1,
        `${each.id}: ${tokens}, counted ${low} to ${high}`,
      );
      compared += 1;
      tools += offered_tools ?? 0;
    }
    assert.ok(compared >= 30 && tools >= 60, `${compared} calls, ${tools} tools`);
  });

  test('other lists of a model are foretold within 5 % of what the provider counts for them', async () => {
    for (const model of ['claude-sonnet-4-5', 'gpt-5.4-mini', 'gemini-3-flash-preview']) {
      const tax = new ContextTax();
      const own = calls().filter((each) => each.model === model);
      const [first, ...others] = own.filter(({ plainRequest }) => plainRequest !== undefined);
      assert.ok(first !== undefined);
      for (const { tools } of own) tax.prepare(tools, model);
      await tax.settled();
      const tokensOf = (interaction: Interaction) =>
        tax.fieldsOf(interaction, PRICE).offered_tools_tokens ?? 0;
      tokensOf(first);
      for (const other of others) {
        const said = tokensOf({ ...other, plainRequest: undefined });
        const counts = messageTokens(other).map((text) => other.usage.inputTokens - text);
        // A forced choice has a longer prompt of Anthropic's own, which no list foretells.
        if (other.id.startsWith('anthropic-6afe5c7bd068')) continue;
        assert.ok(
          said >= 0.95 * Math.min(...counts) && said <= 1.05 * Math.max(...counts),
          `${other.id}: ${said}`,
        );
      }
      // Later calls of a conversation, with longer messages, pay as much for the same tools as the first.
      const later = own.filter(
        ({ tools, plainRequest }) =>
          plainRequest === undefined && JSON.stringify(tools) === JSON.stringify(first.tools),
      );
      for (const each of later) assert.equal(tokensOf(each), tokensOf(first));
    }
  });
});

describe('the fields', () => {
  test('cost is the share of the prompt that definitions begin, at the prices of cached and fresh tokens', async () => {
    const tools = [SEARCH];
    const tax = new ContextTax();
    tax.prepare(tools, 'gpt-4o');
    await tax.settled();
    const fresh = tax.fieldsOf(call(tools), PRICE);
    const tokens = fresh.offered_tools_tokens ?? 0;
    assert.ok(tokens > 20);
    // gpt-4o: 2.50 dollars for a million tokens, 1.25 where they are read from the cache.
    assert.equal(fresh.offered_tools_cost_usd?.toFixed(12), ((tokens * 2.5) / 1e6).toFixed(12));
    const cached = tax.fieldsOf(call(tools, { usage: { inputTokens: 10_000, cacheReadTokens: 10 } }), PRICE);
    assert.equal(
      cached.offered_tools_cost_usd?.toFixed(12),
      (((tokens - 10) * 2.5 + 10 * 1.25) / 1e6).toFixed(12),
    );
    const all = tax.fieldsOf(call(tools, { usage: { inputTokens: 12 } }), PRICE);
    assert.equal(all.offered_tools_tokens, 12);
    assert.equal(tax.fieldsOf(call(tools, { usage: undefined }), PRICE).offered_tools_tokens, undefined);
  });

  test('a list is reported once a minute, with the server of each tool', async () => {
    const listed = (name: string, description: string) => ({
      name,
      description,
      inputSchema: { type: 'object' },
    });
    noteListedTools('tax-books', [listed('tax_find', 'Finds books.')]);
    noteListedTools('tax-maps', [listed('tax_find', 'Finds places.'), listed('tax_route', 'Finds a way.')]);
    noteListedTools('configured', [listed('tax_route', 'Finds a way.')], false);
    const tools = [
      listed('tax_find', 'Finds places.'),
      listed('mcp__tax-books__tax_find', 'Finds books.'),
      listed('tax_route', 'Finds a way.'),
      listed('unlisted', 'Does something.'),
    ];
    const tax = new ContextTax();
    tax.prepare(tools, 'gpt-4o');
    await tax.settled();
    const at = (now: number) => tax.fieldsOf(call(tools), PRICE, now).offered_tools_list;
    const names = Object.entries(JSON.parse(at(0) ?? '{}').tools as object).map(([server, all]) => [
      server,
      Object.keys(all),
    ]);
    assert.deepEqual(names, [
      ['tax-maps', ['tax_find', 'tax_route']],
      ['tax-books', ['tax_find']],
      ['', ['unlisted']],
    ]);
    assert.equal(at(59_000), undefined);
    assert.notEqual(at(61_000), undefined);
  });

  test('definitions are distinguished by their content, not by their owner', async () => {
    const tax = new ContextTax();
    const hash = (tools: unknown) => tax.fieldsOf(call(tools), PRICE).offered_tools_hash;
    const first = hash([SEARCH]);
    assert.equal(hash([structuredClone(SEARCH)]), first);
    assert.notEqual(hash([{ ...SEARCH, description: 'Finds other pages.' }]), first);
    assert.notEqual(hash([SEARCH, SEARCH]), first);
  });

  test('hostile definitions are bounded, and never fail a call', async () => {
    const loop: Record<string, unknown> = { type: 'object' };
    loop.properties = { again: loop };
    const hostile: readonly unknown[] = [
      [{ name: 'loop', parameters: loop }],
      [{ name: 'x'.repeat(1e5), description: 'why '.repeat(1e5), parameters: { type: 'object' } }],
      Array.from({ length: 3_000 }, (_, i) => ({ name: `t${i}`, description: 'd' })),
      [
        { name: '__proto__', description: 'd' },
        { name: 'constructor', description: 'd' },
      ],
      [
        null,
        1,
        'text',
        [],
        {},
        { name: 7 },
        { function: 1 },
        { name: 'n', parameters: { properties: 1, required: 1, enum: [] } },
      ],
      [{ name: 'n', parameters: { type: ['string', 'null', {}], anyOf: [1], oneOf: 'x' } }],
      '[{"name":"cut',
      7,
    ];
    const tax = new ContextTax();
    for (const tools of hostile) {
      tax.prepare(tools, 'gpt-4o');
      await tax.settled();
      const fields = tax.fieldsOf(call(tools), PRICE);
      assert.ok((fields.offered_tools ?? 0) <= 2_048);
      assert.ok((fields.offered_tools_list?.length ?? 0) <= 8_192);
      assert.ok((fields.offered_tools_tokens ?? 0) <= 10_000);
    }
  });
});

describe('a model call', () => {
  const telemetry = new Telemetry(new ObservatorySpanProcessor({ meterProvider: false }));
  duringFile(new OpenAIInstrumentation());
  let provider: ProviderServer;
  let client: OpenAI;
  before(async () => {
    const sdk = createRequire(import.meta.url)('openai') as typeof import('openai');
    provider = await ProviderServer.start();
    client = new sdk.OpenAI({ apiKey: 'sk-test', baseURL: `${provider.url}/v1`, maxRetries: 0 });
  });
  afterEach(() => telemetry.reset());
  after(async () => {
    await provider[Symbol.asyncDispose]();
    await telemetry.shutdown();
  });

  test('has the fields; one without tools has none', async () => {
    const answer = (tokens: number) => ({
      body: {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        model: 'gpt-4o',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: tokens, completion_tokens: 1, total_tokens: tokens + 1 },
      },
    });
    const messages = [{ role: 'user' as const, content: 'Is it there?' }];
    const { name, description, inputSchema: parameters } = SEARCH;
    const tools = [{ type: 'function' as const, function: { name, description, parameters } }];
    const ask = async (tokens: number, offered?: typeof tools) => {
      provider.answer(answer(tokens));
      await client.chat.completions.create({
        model: 'gpt-4o',
        messages,
        ...(offered === undefined ? {} : { tools: offered }),
      });
    };
    const last = (key: string) => telemetry.spans.at(-1)?.attributes[`observatory.${key}`];
    await waitUntil(async () => {
      await ask(100, tools);
      // The message has 8 tokens and the request 3: 'Is it there?' are 4, and 4 go with each message.
      return last('offered_tools_tokens') === 89;
    });
    assert.equal(last('offered_tools'), 1);
    assert.equal(last('offered_tools_cost_usd'), (89 * 2.5) / 1e6);
    await ask(500, tools);
    assert.equal((last('offered_tools_tokens') as number) > 80, true);
    await ask(11);
    assert.equal(last('offered_tools'), undefined);
  });
});
