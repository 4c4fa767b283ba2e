/** The one form of what servers and models send: what is changed of a result, and that nothing else is. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { compileSchema, parseExactJson, withIntegers, writeIntegers } from '../src/json/index.ts';
import { connectServers, normalResult } from '../src/mcp-client/index.ts';
import { fitMessages } from '../src/wire/contract/index.ts';
import { PROVIDERS } from '../src/wire/index.ts';
import { listen } from './support/http-server.ts';
import { random } from './support/random.ts';

/** A JSON text made by chance, without integers that no double holds. */
function jsonText(below: (n: number) => number, depth = 3): string {
  const texts = [
    '""',
    '"a\\"b"',
    '"\\\\"',
    '"9007199254740993"',
    '"x: 12345678901234567890"',
    '"\\u00e9\\n"',
  ];
  const scalars = [
    'null',
    'true',
    '-0',
    '0.1',
    '1e21',
    '12345678901234567890.5',
    '9007199254740991',
    '1E400',
  ];
  if (depth === 0 || below(3) === 0)
    return below(2) === 0 ? (texts[below(6)] ?? '') : (scalars[below(8)] ?? '');
  const items = Array.from({ length: below(4) }, () => jsonText(below, depth - 1));
  if (below(2) === 0) return `[ ${items.join(' ,')}]`;
  return `{${items.map((item, at) => `${texts[at % 6]}: ${item}`).join(', ')} }`;
}

test('JSON without large integers is read as JSON.parse reads it', () => {
  const below = random(7);
  for (let turn = 0; turn < 500; turn += 1) {
    const text = jsonText(below);
    assert.deepEqual(parseExactJson(text), JSON.parse(text), text);
  }
  for (const broken of ['{12345678901234567890:1}', '12345678901234567890x', '[012345678901234567890]', '{'])
    assert.throws(() => parseExactJson(broken), SyntaxError, broken);
});

test('an integer beyond 2^53 is the text of its digits, and a number again where the schema takes one', () => {
  const text =
    '{"id":9007199254740993,"ids":[1,-9007199254740995],"note":"9007199254740993","free":{"x":18446744073709551615}}';
  const args = parseExactJson(text) as Record<string, unknown>;
  assert.deepEqual([args.id, args.ids], ['9007199254740993', [1, '-9007199254740995']]);
  const schema = {
    properties: {
      id: { $ref: '#/$defs/Id' },
      ids: { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
      note: { type: 'string' },
    },
    $defs: { Id: { type: 'integer', maximum: '9223372036854775807' } },
  };
  assert.equal(writeIntegers(JSON.stringify(withIntegers(args, schema))), text);
  assert.deepEqual(compileSchema(schema).check(args), { valid: true });
  const beyond = compileSchema({ properties: { id: { type: 'integer', maximum: 9007199254740992 } } });
  assert.equal(beyond.check(args).valid, false, '9007199254740993 is more, as a double it is not');
  assert.equal(withIntegers({ id: 5 }, schema).id, 5);
});

test('multiples are those of the decimals as they are written', () => {
  const fits = (value: number, multipleOf: number) => compileSchema({ multipleOf }).check(value).valid;
  for (const [value, divisor] of [
    [19.99, 0.01],
    [0.3, 0.1],
    [0.07654321, 1e-8],
    [4.35, 0.01],
    [1e22, 10],
  ] as const)
    assert.ok(fits(value, divisor), `${value} / ${divisor}`);
  for (const [value, divisor] of [
    [19.995, 0.01],
    [0.30000000000000004, 0.1],
    [7, 2],
    [1e-9, 1e-8],
  ] as const)
    assert.ok(!fits(value, divisor), `${value} / ${divisor}`);
});

test('a result in the one form is the same object', () => {
  const below = random(11);
  for (let turn = 0; turn < 300; turn += 1) {
    const structure = JSON.parse(jsonText(below)) as unknown;
    const result = {
      content: [
        { type: 'text', text: jsonText(below), annotations: { audience: ['user'] } },
        { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
        { type: 'hologram', data: structure },
      ],
      ...(structure === null ? {} : { structuredContent: structure }),
      isError: below(2) === 0,
      _meta: { structure },
    };
    assert.equal(normalResult(result), result);
    const odd = {
      ...result,
      _meta: null,
      content: [...result.content, { type: 'text', text: 'x', _meta: null }],
    };
    const { _meta: _, ...rest } = result;
    assert.deepEqual(normalResult(odd), {
      ...rest,
      content: [...result.content, { type: 'text', text: 'x' }],
    });
  }
});

test('what a tool returned in place of content is its content, also in lists of lists, but for what is no result of a tool', () => {
  const text = (text: string) => [{ type: 'text', text }];
  const bare = { rows: 3, isError: false };
  for (const more of [{}, { content: [] }, { content: null }])
    assert.deepEqual(normalResult({ ...bare, ...more }).content, text('{"rows":3}'));
  assert.deepEqual(normalResult({ content: [{ text: 'no type' }] }).content, text('no type'));
  const nested = { content: [text('one'), ...text('two')] };
  assert.deepEqual(normalResult(nested).content, [...text('one'), ...text('two')]);
  for (const whole of [
    { content: [], isError: true },
    { content: [], structuredContent: { a: 1 }, rows: 3 },
    { content: text('x'), rows: 3 },
    { content: [], resultType: 'input_required', inputRequests: {} },
  ])
    assert.equal(normalResult(whole), whole);
});

test('an image that a provider refuses for its size is a line of text', () => {
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const wide = Buffer.from(png);
  wide.writeUInt32BE(9_000, 16);
  const large = [wide, Buffer.concat([png, Buffer.alloc(4_000_000)])];
  const sent = (images: readonly Buffer[], key: 'openai' | 'anthropic') => {
    const parts = images.map((data) => ({
      type: 'image' as const,
      mimeType: 'image/png',
      data: data.toString('base64'),
    }));
    return JSON.stringify(fitMessages([{ role: 'user', parts }], key)).split('too large').length - 1;
  };
  assert.deepEqual([sent([png], 'anthropic'), sent(large, 'anthropic'), sent(large, 'openai')], [0, 2, 0]);
});

test('every provider reads the integers of a call exactly, streamed or whole', async () => {
  const wanted = { id: '9007199254740993' };
  const bodies: Readonly<Record<string, string>> = {
    openai:
      '{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{\\"id\\":9007199254740993}"}}]},"finish_reason":"tool_calls"}]}',
    anthropic:
      '{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"c","name":"t","input":{"id":9007199254740993}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}',
    gemini:
      '{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"t","args":{"id":9007199254740993}}}]},"finishReason":"STOP"}]}',
  };
  for (const provider of PROVIDERS) {
    const answer = async () =>
      new Response(bodies[provider.key], { headers: { 'content-type': 'application/json' } });
    const connection = await provider.connect({ apiKey: 'k', fetch: answer });
    const api = connection.apiFor('gpt-4o');
    const request = api.writeRequest({
      model: 'm',
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'x' }] }],
      tools: [],
      maxOutputTokens: 10,
    });
    const whole = await connection.send(api, request, {
      signal: AbortSignal.timeout(20_000),
      onChunk: () => undefined,
    });
    const part = api
      .readAnswer(whole)
      .choices()[0]
      ?.parts.find(({ type }) => type === 'tool_call');
    assert.deepEqual((part as { arguments?: unknown } | undefined)?.arguments, wanted, provider.key);
  }
});

/** Answers over Streamable HTTP with a large integer in each place, and keeps the calls as they came. */
async function serveIntegers(isStream: boolean, calls: string[]) {
  const results: Record<string, string> = {
    initialize:
      '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"ids","version":"1"}}',
    'tools/list':
      '{"tools":[{"name":"get","inputSchema":{"type":"object","properties":{"id":{"type":"integer"}}}}]}',
    'tools/call':
      '{"content":[],"structuredContent":{"id":9223372036854775807,"deep":[{"id":-9007199254740993}]}}',
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { id, method } = body === '' ? {} : JSON.parse(body);
    if (method === 'tools/call') calls.push(body);
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const outcome = results[method] ?? undefined;
    const member = outcome === undefined ? '"error":{"code":-32601,"message":"no"}' : `"result":${outcome}`;
    const answer = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}}`;
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
    response.end(isStream ? `data: ${answer}\n\n` : answer);
  });
  return listen(server);
}

for (const protocol of ['v1', 'v2'] as const) {
  test(`integers beyond 2^53 are exact over HTTP, to the tool and back, client ${protocol}`, async () => {
    for (const isStream of [false, true]) {
      const calls: string[] = [];
      await using server = await serveIntegers(isStream, calls);
      const url = `${server.origin}/mcp`;
      await using pool = await connectServers({ mcpServers: { ids: { url, type: 'http', protocol } } });
      const outcome = await pool.callTool('ids', 'get', { id: '1234567890123456789' });
      assert.match(calls[0] ?? '', /"id":1234567890123456789[,}]/);
      assert.equal(outcome.kind, 'ok');
      assert.deepEqual(outcome.kind === 'ok' && outcome.result.structuredContent, {
        id: '9223372036854775807',
        deep: [{ id: '-9007199254740993' }],
      });
    }
  });
}
