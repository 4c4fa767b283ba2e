/**
 * Servers made by chance: schemas of every draft and results of every oddity, behind a gate and without one, for each
 * provider. A failure names the seed of its server; `OBSERVATORY_TEST_SEED` is the first of them.
 */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { PolicyGate } from '../../src/policy/index.ts';
import { PROVIDERS, tryGhost } from '../support/ghost.ts';
import { random } from '../support/random.ts';

const SERVERS = process.env.OBSERVATORY_TEST_SIZE === 'million' ? 1_000 : 90;
const FIRST_SEED = Number(process.env.OBSERVATORY_TEST_SEED ?? 1);
const TOOLS = 5;

type Pick = <T>(from: readonly T[]) => T;

/** Schemas as JSON texts, because no JavaScript value holds their numbers, each with arguments that fit it. */
const PROPERTIES: readonly (readonly [schema: string, ...values: unknown[]])[] = [
  ['{"type":"string","format":"date-time"}', '2026-01-02T03:04:05', '2026-01-02T03:04:05Z'],
  ['{"type":"string","format":"email","pattern":"^(?!\\\\.)[a-z.@]+$"}', 'ann@example.com'],
  ['{"type":"string","pattern":"(?<!x)y"}', 'zy'],
  ['{"type":"string","pattern":"^(a)\\\\1$"}', 'aa'],
  ['{"type":"string","pattern":"(?i)^abc$"}', 'ABC'],
  [
    '{"type":"integer","format":"int64","minimum":-9223372036854775808,"maximum":9223372036854775807}',
    -5,
    Number.MAX_SAFE_INTEGER,
  ],
  ['{"type":"integer","minimum":0,"exclusiveMinimum":true}', 1],
  ['{"type":"number","multipleOf":0.01}', 19.99, 0.07],
  ['{"type":"array","items":[{"type":"string"},{"type":"number"}],"additionalItems":false}', ['a', 1.5], []],
  ['{"type":"array"}', [1, null, 'a', [{}]]],
  ['{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}', null, 'a "quoted" ü\u2028'],
  ['{"type":["string","null"],"title":null,"enum":null}', null, ''],
  ['{"type":"string","nullable":true,"enum":["a",null]}', 'a', null],
  ['{"$ref":"#/definitions/D"}', 'text of D', '{"a":1}'],
  ['{"$ref":"#/$defs/nowhere"}', 'a', { a: [1] }],
  ['{"type":"object","properties":null,"required":null}', { free: { deep: [1] } }],
  [
    '{"type":"object","additionalProperties":{"anyOf":[{"type":"string"},{"properties":{"$meta":{"type":"integer"}}}]}}',
    { a: 'b', 'c d': { $meta: 1 } },
  ],
  ['{"type":"object","patternProperties":{"^(?=x)":{"type":"string"}}}', { x1: 'a' }],
  ['{}', 'a', 1, { a: null }],
  // What servers write wrong.
  ['{"type":"System.String"}', 'a'],
  ['{"allOf":{"type":"string"},"enum":"a"}', 'a'],
  ['{"type":"string","required":true}', 'a'],
  ['{"type":"number","multipleOf":0}', 0.1],
  ['{"type":"object","properties":[]}', { a: 1 }],
  ['["a"]', 'a'],
  ['"string"', 'a'],
];

const DIALECTS = [
  '',
  '"$schema":"http://json-schema.org/draft-04/schema#",',
  '"$schema":"http://json-schema.org/draft-06/schema#",',
  '"$schema":"http://json-schema.org/draft-07/schema#",',
  '"$schema":"https://json-schema.org/draft/2019-09/schema",',
  '"$schema":"https://json-schema.org/draft/2020-12/schema",',
  '"$schema":"http://json-schema.org/draft-03/schema#",',
  '"$schema":"https://example.com/our-own",',
  '"$schema":[],',
];

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const RESULTS = [
  '{"content":[{"type":"text","text":"fine"}]}',
  '{"content":[{"type":"text","text":"fine","annotations":null,"_meta":null}],"_meta":null,"isError":null,"structuredContent":null}',
  '{"content":null,"structuredContent":{"v":1234567890123456789,"at":"2026-01-02T03:04:05"}}',
  '{"content":[{"type":"text","text":"something else"}],"structuredContent":{"v":3,"ok":true,"none":null}}',
  '{"content":[{"type":"text","text":"no"}],"structuredContent":{"v":"text"}}',
  '{"content":[]}',
  '{}',
  '{"content":"plain"}',
  '{"content":{"type":"text","text":"one block"}}',
  '{"content":[{"type":"text","text":42},"loose",null,7]}',
  '{"toolResult":{"content":[{"type":"text","text":"old"}]}}',
  '{"content":[{"type":"text","text":" \\n "}],"isError":true}',
  '{"content":[],"isError":"true"}',
  '{"content":[{"type":"text","text":"cut \\ud83d here"}],"structuredContent":{"\\udc00":"\\ud800"}}',
  `{"content":[{"type":"image","data":"${PNG}","mimeType":"image/jpeg"}]}`,
  `{"content":[{"type":"image","data":"data:image/png;base64,${PNG}","mimeType":"IMAGE/PNG; q=1"}]}`,
  '{"content":[{"type":"image","data":"PHN2Zy8+","mimeType":"image/svg+xml"}]}',
  '{"content":[{"type":"image","data":"","mimeType":"image/png"}]}',
  '{"content":[{"type":"image","data":"%%%","mimeType":"image/png"}]}',
  '{"content":[{"type":"image","mimeType":null,"data":null}]}',
  '{"content":[{"type":"hologram","data":[[[]]]}]}',
  '{"content":[{"type":"resource","resource":{"uri":"x:y","text":null,"blob":"AA=="}}]}',
  '{"content":[{"type":"text","text":"of PHP","annotations":[]}],"_meta":[],"structuredContent":[]}',
];

interface MadeServer {
  readonly tools: string;
  readonly results: readonly string[];
  /** By tool the arguments that fit it, and those of the calls that came. */
  readonly arguments: readonly Readonly<Record<string, unknown>>[];
  readonly calls: readonly unknown[][];
}

function makeServer(seed: number): MadeServer {
  const below = random(seed);
  const pick: Pick = (from) => from[below(from.length)] as (typeof from)[number];
  const schema = (properties: string) =>
    `{${pick(DIALECTS)}"type":"object","definitions":{"D":{"type":"string"}},"properties":{${properties}}}`;
  const fitting: Record<string, unknown>[] = [];
  const tools = Array.from({ length: TOOLS }, (_, tool) => {
    const picked = Array.from({ length: 1 + below(3) }, () => pick(PROPERTIES));
    const properties = picked.map(([text], at) => `"p${at}":${text}`).join();
    const given = picked.map(([, ...values], at) => [`p${at}`, pick(values)]);
    fitting.push(Object.fromEntries(given.filter(() => below(4) > 0)));
    const output = below(2) === 0 ? `,"outputSchema":${schema(`"v":${pick(PROPERTIES)[0]}`)}` : '';
    return `{"name":"t${tool}","inputSchema":${schema(properties)}${output}}`;
  });
  return {
    tools: `{"tools":[${tools.join()}],"nextCursor":${pick(['null', '""', '"8"'])}}`,
    results: tools.map(() => pick(RESULTS)),
    arguments: fitting,
    calls: tools.map(() => []),
  };
}

const made = new Map<string, MadeServer>();
const http = createServer((request, response) => void answer(request, response));
let address = '';
before(async () => {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
after(() => {
  http.closeAllConnections();
  http.close();
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const server = made.get(request.url ?? '');
  if (request.method !== 'POST' || server === undefined) return void response.writeHead(405).end();
  let text = '';
  for await (const chunk of request) text += chunk;
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return void response.writeHead(202).end();
  const version = params?.protocolVersion;
  const handshake = {
    protocolVersion: version,
    capabilities: { tools: {} },
    serverInfo: { name: 'made', version: '1' },
  };
  let result = JSON.stringify(handshake);
  if (method === 'tools/list') result = server.tools;
  if (method === 'tools/call') {
    const at = Number(params.name.slice(1));
    server.calls[at]?.push(params.arguments);
    result = server.results[at] ?? '{}';
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
}

const policy = {
  version: 1,
  rules: [
    { id: 'all', effect: 'allow', server: 'made', tool: Array.from({ length: TOOLS }, (_, at) => `t${at}`) },
  ],
};

test(`${SERVERS} servers made by chance: each call ends with its result, once, and no run for what a server said`, async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SERVERS; seed += 1) {
    const { provider } = PROVIDERS[seed % PROVIDERS.length] ?? assert.fail();
    const server = makeServer(seed);
    made.set(`/${seed}`, server);
    using gate = seed % 2 === 0 ? new PolicyGate({ policy }) : undefined;
    const calls = server.arguments.map((fitting, at) => ({ name: `made__t${at}`, arguments: fitting }));
    const { result, model } = await tryGhost(provider, [{ calls }, { text: 'done' }], {
      serverConfig: { mcpServers: { made: { url: `${address}/${seed}` } } },
      timeout: 20,
      ...(gate && { gate, audit: false }),
    });
    const where = `seed ${seed}, ${provider}`;
    assert.equal(result.executionMetadata.stopReason, 'completed', where);
    assert.deepEqual(result.executionMetadata.quarantinedTools, [], where);
    const came = server.arguments.map((fitting) => [fitting]);
    assert.deepEqual(server.calls, came, `${where}: each tool is called once, with its arguments`);
    for (const { error } of result.toolChain)
      assert.doesNotMatch(error ?? '', /withheld|Not allowed|No answer/, where);
    assert.doesNotMatch(JSON.stringify(model.requests), /\\\\*ud[89a-f][0-9a-f]{2}/, `${where}: well-formed`);
    made.delete(`/${seed}`);
  }
});
