/** Readers of providers' answers accept anything: they never throw, and bound what they keep and do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROVIDERS, type WireApi } from '../src/wire/index.ts';
import { cpuMs } from './support/cpu-time.ts';

const APIS: readonly WireApi[] = PROVIDERS.flatMap(({ apis }) => apis);
/** Most text kept of one stream, with room for its last piece. */
const MOST_TEXT = 8 * 1024 * 1024 + 4_096;

/** The events of each API that add a piece of text, a part or block, and a piece of a call's arguments. */
const EVENTS: Readonly<
  Record<string, { text(piece: string): object; part(at: number): object; args(at: number): object }>
> = {
  'openai.chat': {
    text: (content) => ({ choices: [{ index: 0, delta: { content } }] }),
    part: (at) => ({ choices: [{ index: at, delta: { content: 'x' } }] }),
    args: (at) => ({
      choices: [
        { index: 0, delta: { tool_calls: [{ index: at, function: { arguments: 'x'.repeat(99) } }] } },
      ],
    }),
  },
  'openai.responses': {
    text: (delta) => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta }),
    part: (at) => ({
      type: 'response.output_item.added',
      output_index: at,
      item: { type: 'message', content: [] },
    }),
    args: (at) => ({
      type: 'response.function_call_arguments.delta',
      output_index: at,
      delta: 'x'.repeat(99),
    }),
  },
  'anthropic.messages': {
    text: (text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    part: (index) => ({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } }),
    args: (index) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: 'x'.repeat(99) },
    }),
  },
  'gemini.generate_content': {
    text: (text) => ({ candidates: [{ content: { parts: [{ text }] } }] }),
    part: () => ({ candidates: [{ content: { parts: [{ inlineData: {} }] } }] }),
    args: (at) => ({
      candidates: [
        {
          content: {
            parts: [
              {
                functionCall: {
                  ...(at === 0 ? { name: 'f' } : {}),
                  partialArgs: [
                    { jsonPath: `$.a${at}[999999].b`, stringValue: 'x'.repeat(99) },
                    { jsonPath: '$.'.repeat(600), stringValue: 'x' },
                  ],
                },
              },
            ],
          },
        },
      ],
    }),
  },
};

for (const api of APIS) {
  const { text, part, args } = EVENTS[api.name] ?? assert.fail(`no events for ${api.name}`);

  test(`${api.name}: a stream that does not end keeps a bounded text and a bounded number of parts`, () => {
    const stream = api.newStream();
    stream.push(part(0));
    const piece = 'x'.repeat(4_096);
    for (let at = 0; at < 4_096; at += 1) stream.push(text(piece));
    for (let at = 0; at < 20_000; at += 1) stream.push(part(at));
    for (let at = 0; at < 50_000; at += 1) stream.push(args(at));
    const size = JSON.stringify(stream.whole()).length;
    assert.ok(size < MOST_TEXT + 16_000_000, `${size} characters are kept`);
  });

  test(`${api.name}: pieces are added in constant time, also where each is asked about`, () => {
    const stream = api.newStream();
    stream.push(part(0));
    const took = cpuMs(() => {
      for (let at = 0; at < 50_000; at += 1) {
        stream.push(text('a few words'));
        assert.equal(stream.isComplete, false);
      }
    });
    assert.ok(took < 2_000, `${took} ms`);
    assert.equal(api.readAnswer(stream.whole()).toolCallCount, 0);
  });

  test(`${api.name}: nothing that comes makes it throw`, () => {
    const getter = Object.defineProperty({}, 'type', {
      get(): never {
        throw new Error('getter');
      },
    });
    const cyclic: Record<string, unknown> = { type: 'message', choices: [] };
    cyclic.content = [cyclic];
    cyclic.candidates = [cyclic];
    cyclic.output = [cyclic];
    const values = [null, undefined, 0, '', 'x', 1n, [], [null], new Map(), () => 1, getter, cyclic];
    const wrong: unknown[] = [...values];
    for (const value of values) {
      for (const key of [
        'message',
        'content_block',
        'delta',
        'usage',
        'candidates',
        'choices',
        'output',
        'response',
        'error',
      ])
        wrong.push({ type: 'content_block_start', [key]: value }, { type: 'message_delta', [key]: [value] });
      wrong.push({ candidates: [{ content: { parts: [value, { functionCall: value }] } }] });
      wrong.push({ choices: [{ delta: value, message: value }], error: value });
      wrong.push({ content: [value], usage: value, usageMetadata: value, promptFeedback: value });
    }
    const stream = api.newStream();
    for (const value of wrong) {
      stream.push(value);
      assert.equal(typeof stream.whole(), 'object');
      const answer = api.readAnswer(value);
      assert.ok(Array.isArray(answer.choices()));
      api.readError(value);
    }
    assert.ok(Array.isArray(api.readAnswer(stream.whole()).choices()));
  });
}

test('a path in streamed arguments sets own properties alone', () => {
  const [api] = APIS.filter(({ name }) => name === 'gemini.generate_content');
  assert.ok(api !== undefined);
  const stream = api.newStream();
  const partialArgs = [
    { jsonPath: '$.__proto__.polluted', stringValue: 'yes' },
    { jsonPath: '$.constructor.prototype.polluted', stringValue: 'yes' },
    { jsonPath: '$.list.length', numberValue: 4e9 },
  ];
  stream.push({ candidates: [{ content: { parts: [{ functionCall: { name: 'f', partialArgs } }] } }] });
  const [part] = api.readAnswer(stream.whole()).choices()[0]?.parts ?? [];
  assert.ok(part?.type === 'tool_call');
  assert.equal((part.arguments as { polluted?: string }).polluted, undefined);
  assert.equal(({} as { polluted?: string }).polluted, undefined);
  assert.deepEqual(Object.keys(part.arguments), ['__proto__', 'constructor', 'list']);
});
