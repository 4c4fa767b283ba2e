/** Clients that load an SDK without its main module: from other packages, and through subpaths. */
// Runs alone: it hooks model SDKs as they load, which happens once in a process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, afterEach, test } from 'node:test';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { hookedModules } from '../src/instrumentation/index.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry();
const anthropicInstrumentation = new AnthropicInstrumentation();
new OpenAIInstrumentation();
const require = createRequire(import.meta.url);
const { BaseAnthropic } = require('@anthropic-ai/sdk/client') as typeof import('@anthropic-ai/sdk/client');
const { Messages } =
  require('@anthropic-ai/sdk/resources/index') as typeof import('@anthropic-ai/sdk/resources/index');
const { AzureOpenAI } = require('openai/azure') as typeof import('openai/azure');

/** Built as `@anthropic-ai/bedrock-sdk` and `@anthropic-ai/vertex-sdk` build theirs. */
class HostedAnthropic extends BaseAnthropic {
  readonly messages = new Messages(this);
}

afterEach(() => telemetry.reset());
after(() => telemetry.shutdown());

const ASK = { model: 'claude-x', max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hi' }] };
const USAGE = { input_tokens: 10, output_tokens: 5 };
const MESSAGE = { id: 'm1', type: 'message', role: 'assistant', model: 'claude-x', stop_reason: 'end_turn' };

async function ask(host: string): Promise<void> {
  const body = { ...MESSAGE, content: [{ type: 'text', text: 'Hi' }], usage: USAGE };
  const fetch = async () => Response.json(body);
  const client = new HostedAnthropic({ apiKey: 'key', baseURL: `https://${host}`, fetch });
  await client.messages.create(ASK);
}

const HOSTS = [
  ['bedrock-runtime.us-east-1.amazonaws.com', 'aws.bedrock'],
  ['us-east5-aiplatform.googleapis.com', 'gcp.vertex_ai'],
] as const;

for (const [host, provider] of HOSTS) {
  test(`a client of another package on top of @anthropic-ai/sdk/client has one span, of ${provider}`, async () => {
    anthropicInstrumentation.setConfig({ native: 'suppress' });
    await ask(host);
    const { attributes, instrumentationScope } = telemetry.only;
    assert.equal(instrumentationScope.name, 'mcp-observatory/anthropic');
    assert.equal(attributes['gen_ai.provider.name'], provider);
    assert.equal(attributes['gen_ai.usage.output_tokens'], 5);
  });
}

test('the span that the SDK makes for such a client is completed, and stays the only one', async () => {
  anthropicInstrumentation.setConfig({});
  await ask(HOSTS[0][0]);
  const { attributes, instrumentationScope } = telemetry.only;
  assert.match(instrumentationScope.name, /^com\.anthropic\./);
  assert.deepEqual(attributes['gen_ai.response.finish_reasons'], ['end_turn']);
});

test('openai/azure, which never loads the main module, is traced', async () => {
  const body = { id: 'c1', model: 'gpt-x', choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } };
  const fetch = async () => Response.json(body);
  const options = { apiKey: 'key', apiVersion: '2026-01-01', endpoint: 'https://mine.openai.azure.com' };
  const client = new AzureOpenAI({ ...options, fetch });
  await client.chat.completions.create({ model: 'gpt-x', messages: [] });
  assert.equal(telemetry.only.attributes['gen_ai.provider.name'], 'azure.ai.openai');
  assert.equal(telemetry.only.attributes['gen_ai.usage.output_tokens'], 5);
});

test('the main module, loaded later, gives no second span and is no news', async () => {
  const before = hookedModules().length;
  const { OpenAI } = require('openai') as typeof import('openai');
  const { Anthropic } = require('@anthropic-ai/sdk') as typeof import('@anthropic-ai/sdk');
  anthropicInstrumentation.setConfig({ native: 'suppress' });
  assert.equal(hookedModules().length, before);
  const fetch = async () => Response.json({});
  await new Anthropic({ apiKey: 'key', fetch }).messages.create(ASK);
  await new OpenAI({ apiKey: 'key', fetch }).chat.completions.create({ model: 'gpt-x', messages: [] });
  assert.equal(telemetry.spans.length, 2);
});
