/** Eight ways a streamed answer can end, for all three SDKs, over real sockets. */
// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { openCalls } from '../src/instrumentation/shared/open-calls.ts';
import { collectGarbage } from './support/garbage.ts';
import { duringFile } from './support/model-hooks.ts';
import { anthropicSdk, googleSdk, type ModelStream, openaiSdk } from './support/model-sdks.ts';
import { ProviderServer } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';
import { waitUntil } from './support/wait-until.ts';

const telemetry = new Telemetry();
duringFile(new OpenAIInstrumentation());
duringFile(new AnthropicInstrumentation({ native: 'suppress' }));
duringFile(new GoogleGenAIInstrumentation());
const openai = openaiSdk();
const anthropic = anthropicSdk();
const google = googleSdk();
const SDKS = [openai, anthropic, google];

const TEXTS = ['one ', 'two ', 'three ', 'four ', 'five '];
const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);
process.on('unhandledRejection', onUnhandled);

let provider: ProviderServer;
before(async () => {
  provider = await ProviderServer.start();
});
afterEach(() => {
  telemetry.reset();
  assert.deepEqual(unhandled, []);
});
after(async () => {
  process.off('unhandledRejection', onUnhandled);
  await provider[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

for (const sdk of SDKS) {
  test(`${sdk.name}: usage, cached tokens and the answer are read from a stream`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    await drain(await sdk.stream(provider.url));
    const { attributes, status } = telemetry.only;
    assert.equal(attributes['gen_ai.request.stream'], true);
    assert.equal(attributes['gen_ai.usage.input_tokens'], 100);
    assert.equal(attributes['gen_ai.usage.output_tokens'], 20);
    assert.equal(attributes['gen_ai.usage.cache_read.input_tokens'], 90);
    assert.equal((attributes['gen_ai.response.finish_reasons'] as string[]).length, 1);
    assert.ok(Number(attributes['gen_ai.response.time_to_first_chunk']) > 0);
    assert.equal(attributes['observatory.stream_end'], undefined);
    assert.equal(status.code, 0);
  });

  test(`${sdk.name}: an early break ends the span, and the request as far as the SDK ends it`, async () => {
    const many = Array.from({ length: 20 }, (_, index) => `piece ${index} `);
    provider.answer({ events: sdk.events(many), pauseMs: 20 });
    const before = provider.hangUps;
    for await (const _ of await sdk.stream(provider.url)) break;
    const { attributes, status } = telemetry.only;
    assert.equal(attributes['observatory.stream_end'], 'closed');
    assert.equal(status.code, 0);
    // @google/genai reads on by itself; the other two abort.
    if (sdk !== google) {
      await waitUntil(() => provider.hangUps === before + 1);
      assert.ok(provider.eventsSent < many.length, `sent ${provider.eventsSent}`);
    }
  });

  test(`${sdk.name}: a socket cut in mid-stream is an error for the reader and on the span`, async () => {
    provider.answer({ events: sdk.events(TEXTS), pauseMs: 5, cutAfter: 4 });
    const stream = await sdk.stream(provider.url);
    await assert.rejects(drain(stream));
    await waitUntil(() => telemetry.spans.length > 0);
    const { attributes, status } = telemetry.only;
    assert.equal(status.code, 2);
    assert.equal(attributes['error.type'], 'UND_ERR_SOCKET');
    assert.equal(attributes['gen_ai.response.model'] !== undefined, true);
  });

  test(`${sdk.name}: a stream nobody reads ends its span when it is garbage`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    await dropped(() => sdk.stream(provider.url));
    await collect(1);
    assert.equal(telemetry.only.attributes['observatory.stream_end'], 'abandoned');
  });

  test(`${sdk.name}: a stream that is left in the middle and dropped ends its span when it is garbage`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    await dropped(async () => {
      const iterator = (await sdk.stream(provider.url))[Symbol.asyncIterator]();
      await iterator.next();
      return undefined;
    });
    await collect(1);
    assert.equal(telemetry.only.attributes['observatory.stream_end'], 'abandoned');
  });

  test(`${sdk.name}: a stream that is kept and never read ends its span at shutdown`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    const kept = await sdk.stream(provider.url);
    assert.equal(telemetry.spans.length, 0);
    openCalls.abandonAll();
    assert.equal(telemetry.only.attributes['observatory.stream_end'], 'abandoned');
    assert.ok((await drain(kept)) > 0);
    assert.equal(telemetry.spans.length, 1);
  });

  test(`${sdk.name}: the helper that streams gives one span`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    await sdk.helper(provider.url);
    assert.equal(telemetry.only.attributes['gen_ai.usage.output_tokens'], 20);
  });

  test(`${sdk.name}: two streams at once keep apart`, async () => {
    provider.answer({ events: sdk.events(TEXTS), pauseMs: 2 });
    await Promise.all([sdk.stream(provider.url).then(drain), sdk.stream(provider.url).then(drain)]);
    assert.deepEqual(
      telemetry.spans.map(({ attributes }) => attributes['gen_ai.usage.output_tokens']),
      [20, 20],
    );
  });
}

const OWN_STREAM = [
  {
    sdk: openai,
    create: () =>
      openai.client(provider.url).chat.completions.create({
        model: 'gpt-4o-mini',
        stream: true,
        messages: [{ role: 'user', content: 'x' }],
      }),
  },
  {
    sdk: anthropic,
    create: () =>
      anthropic.client(provider.url).messages.create({
        model: 'claude-sonnet-4-6',
        max_tokens: 9,
        stream: true,
        messages: [{ role: 'user', content: 'x' }],
      }),
  },
] as const;

for (const { sdk, create } of OWN_STREAM) {
  test(`${sdk.name}: withResponse() gives the stream and the response`, async () => {
    provider.answer({ events: sdk.events(TEXTS), headers: { 'x-mark': 'here' } });
    const { data, response } = await create().withResponse();
    assert.equal(response.headers.get('x-mark'), 'here');
    await drain(data);
    assert.equal(telemetry.only.attributes['gen_ai.usage.output_tokens'], 20);
  });

  test(`${sdk.name}: asResponse() gives the raw stream and ends the span at the headers`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    const response = await create().asResponse();
    assert.equal(telemetry.spans.length, 1);
    assert.ok((await response.text()).includes('three'));
  });

  test(`${sdk.name}: tee() still splits, and the span ends with the faster side`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    const stream = await create();
    const [left, right] = stream.tee();
    assert.equal(await drain(left), await drain(right));
    assert.equal(telemetry.only.attributes['gen_ai.usage.output_tokens'], 20);
  });

  test(`${sdk.name}: toReadableStream() still converts, and ends the span`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    const stream = await create();
    let bytes = 0;
    for await (const chunk of stream.toReadableStream() as unknown as AsyncIterable<Uint8Array>)
      bytes += chunk.length;
    assert.ok(bytes > 0);
    assert.equal(telemetry.only.attributes['gen_ai.usage.output_tokens'], 20);
  });

  test(`${sdk.name}: controller.abort() ends reader, request and span without an error`, async () => {
    provider.answer({ events: sdk.events(TEXTS), pauseMs: 20 });
    const stream = await create();
    for await (const _ of stream) stream.controller.abort();
    assert.equal(telemetry.only.status.code, 0);
    assert.equal(telemetry.only.attributes['observatory.stream_end'], 'closed');
  });

  test(`${sdk.name}: a stream that ends in the middle without an error is marked as cut, and is no error`, async () => {
    const read: number[] = [];
    for (const count of [0, 3]) {
      provider.answer({ events: sdk.events(TEXTS).slice(0, count) });
      read.push(await drain(await create()));
    }
    assert.deepEqual(read, [0, 3]);
    for (const { attributes, status } of telemetry.spans) {
      assert.equal(attributes['observatory.stream_end'], 'cut');
      assert.equal(attributes['error.type'], undefined);
      assert.equal(status.code, 0);
    }
    assert.equal(telemetry.spans.length, 2);
  });

  test(`${sdk.name}: a helper that fails because the stream was cut leaves it marked as cut`, async () => {
    provider.answer({ events: sdk.events(TEXTS).slice(0, 3) });
    await assert.rejects(sdk.helper(provider.url), /stream ended without|missing finish_reason/);
    assert.equal(telemetry.only.attributes['observatory.stream_end'], 'cut');
  });

  test(`${sdk.name}: reading a stream twice is refused as without us, and changes nothing`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    const stream = await create();
    await drain(stream);
    await assert.rejects(drain(stream), /consumed stream/);
    assert.equal(telemetry.only.status.code, 0);
  });
}

async function drain(stream: ModelStream): Promise<number> {
  let count = 0;
  for await (const _ of stream) count++;
  return count;
}

/** Runs in a frame of its own, so that nothing of it stays on the stack. */
async function dropped(run: () => Promise<unknown>): Promise<void> {
  await run();
}

async function collect(spans: number): Promise<void> {
  await collectGarbage(() => telemetry.spans.length >= spans);
}
