/** What runs make of the results of real servers. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { replayGolden } from '../src/golden/index.ts';
import { showResult } from '../src/orchestrator/tool-text.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { answersServer, anyTool, textResult } from './support/answers.ts';
import { tryGhost } from './support/ghost.ts';
import { serveMcp } from './support/http-mcp-server.ts';

test('steps depend on the steps that returned their values, and conflicting results are reported to the model and in the trail', async () => {
  const crm = answersServer({
    tools: [anyTool('find_customer'), anyTool('get_customer')],
    results: {
      find_customer: [textResult('no customer 17', true), textResult('{"query":"Ada","customer":{"id":7}}')],
      get_customer: [{ content: [], structuredContent: { id: 7, city: 'Paris' } }],
    },
  });
  const erp = answersServer({
    tools: [anyTool('get_customer')],
    results: { get_customer: [textResult('{"customer_id": 7, "city": "Rome"}')] },
  });
  const { result, model } = await tryGhost(
    'openai',
    [
      { calls: [{ name: 'crm__find_customer', arguments: { query: '17' } }] },
      { calls: [{ name: 'crm__find_customer', arguments: { query: 'Ada' } }] },
      {
        calls: [
          { name: 'crm__get_customer', arguments: { customer_id: 7 } },
          { name: 'erp__get_customer', arguments: { id: 7, query: 'Ada' } },
        ],
      },
      { text: 'Ada lives in Rome: the ERP is newer.' },
    ],
    { serverConfig: { mcpServers: { crm, erp } }, userPrompt: 'Where does Ada live?' },
  );
  assert.deepEqual(
    result.toolChain.map(({ dependsOn }) => dependsOn),
    [[], [], [1], [1]],
  );
  const told =
    /Steps 3 and 4 disagree about city of 7: "Paris" according to crm\.get_customer, "Rome" according to erp\.get_customer/;
  assert.match((model.requests[3]?.text ?? '').replaceAll('\\"', '"'), told);
  const sentence = result.reasoningTrail.find((line) => told.test(line));
  assert.match(sentence ?? '', /the answer says "Rome"/);
  assert.match(result.summary, /1 disagreement of results/);
});

test('the model sees structured content that the text does not say, and not twice what it does', async () => {
  const server = answersServer({
    tools: ['summary', 'same', 'words', 'flags'].map((name) => anyTool(name)),
    results: {
      summary: [
        {
          content: [{ type: 'text', text: 'Found 2 orders.' }],
          structuredContent: { orders: ['A-1', 'B-2'] },
        },
      ],
      same: [
        {
          content: [{ type: 'text', text: '{ "n": 1, "ok": true }' }],
          structuredContent: { ok: true, n: 1 },
        },
      ],
      words: [
        { content: [{ type: 'text', text: 'A-1 costs 20' }], structuredContent: { id: 'A-1', price: 20 } },
      ],
      flags: [{ content: [{ type: 'text', text: 'The shop 1' }], structuredContent: { id: 1, open: false } }],
    },
  });
  const calls = ['summary', 'same', 'words', 'flags'].map((name) => ({ name: `s__${name}` }));
  const { model } = await tryGhost('anthropic', [{ calls }, { text: 'ok' }], {
    serverConfig: { mcpServers: { s: server } },
  });
  assert.deepEqual(
    model.requests[1]?.lastResults.map(({ text }) => text),
    [
      'Found 2 orders.\n{"orders":["A-1","B-2"]}',
      '{ "n": 1, "ok": true }',
      'A-1 costs 20',
      'The shop 1\n{"id":1,"open":false}',
    ],
  );
});

test('a result that breaks its schema is handed on and says which field, and the call is not asked for again', async () => {
  const outputSchema = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] };
  const server = answersServer({
    tools: [anyTool('sum', { outputSchema }), anyTool('none', { outputSchema })],
    results: {
      sum: [{ content: [{ type: 'text', text: 'many' }], structuredContent: { total: 'many' } }],
      none: [textResult('twelve')],
    },
  });
  const { result, model } = await tryGhost(
    'openai',
    [{ calls: [{ name: 's__sum' }, { name: 's__none' }] }, { text: 'ok' }],
    {
      serverConfig: { mcpServers: { s: server } },
    },
  );
  const [sum, none] = model.requests[1]?.lastResults.map(({ text }) => text) ?? [];
  assert.match(sum ?? '', /structured output does not fit its outputSchema: .*total.*must be number/);
  assert.match(sum ?? '', /The result was: many/);
  assert.match(
    none ?? '',
    /declares an outputSchema and returned no structuredContent\nThe result was: twelve/,
  );
  assert.deepEqual(
    result.toolChain.map(({ success }) => success),
    [true, true],
  );
  assert.deepEqual(result.errors, []);
});

test('links keep name and description, and the model reads what a result has linked and nothing else', async () => {
  const report = {
    uri: 'memo://report',
    name: 'report',
    title: 'Q3',
    description: 'All sales',
    mimeType: 'text/plain',
  };
  const server = answersServer({
    tools: [anyTool('find')],
    results: { find: [{ content: [{ type: 'resource_link', ...report }] }] },
    resources: { 'memo://report': [{ uri: 'memo://report', mimeType: 'text/plain', text: 'Sales: 12' }] },
  });
  const read = (uri: string) => ({ name: 'read_resource', arguments: { uri } });
  const script = [
    { calls: [{ name: 's__find' }] },
    { calls: [read('memo://report'), read('memo://secret')] },
    { text: 'Twelve.' },
  ];
  const { result, model } = await tryGhost('gemini', script, { serverConfig: { mcpServers: { s: server } } });
  assert.deepEqual(model.refused, []);
  assert.equal(model.requests[0]?.toolNames.includes('read_resource'), false);
  assert.equal(model.requests[1]?.toolNames.includes('read_resource'), true);
  assert.equal(
    model.requests[1]?.lastResults[0]?.text,
    '[resource memo://report, name: report, title: Q3, description: All sales, type: text/plain]',
  );
  assert.match(model.requests[2]?.lastResults[0]?.text ?? '', /^Sales: 12/);
  assert.match(model.requests[2]?.lastResults[1]?.text ?? '', /No result has linked to this resource/);
  assert.equal(result.toolChain[1]?.toolName, 's.resources/read');
  assert.equal(result.toolChain[1]?.success, true);
});

test('a gate decides about linked resources as about any other', async () => {
  const server = answersServer({
    tools: [anyTool('find')],
    results: {
      find: [
        {
          content: ['a', 'b'].map((name) => ({ type: 'resource_link', uri: `memo://${name}`, name })),
        },
      ],
    },
    resources: {
      'memo://a': [{ uri: 'memo://a', text: 'open' }],
      'memo://b': [{ uri: 'memo://b', text: 'hidden' }],
    },
  });
  using gate = new PolicyGate({
    policy: {
      version: 1,
      rules: [{ id: 'r', effect: 'allow', server: 's', tool: 'find' }],
      servers: { s: { resources: ['memo://a'] } },
    },
  });
  const read = (uri: string) => ({ name: 'read_resource', arguments: { uri } });
  const script = [
    { calls: [{ name: 's__find' }] },
    { calls: [read('memo://a'), read('memo://b')] },
    { text: 'ok' },
  ];
  const { result } = await tryGhost('openai', script, {
    serverConfig: { mcpServers: { s: server } },
    gate,
    audit: false,
  });
  assert.deepEqual(
    result.toolChain.map(({ success }) => success),
    [true, true, false],
  );
  assert.match(result.toolChain[2]?.error ?? '', /request_not_allowed/);
  assert.doesNotMatch(JSON.stringify(result), /hidden/);
});

test('a linked resource is recorded in a golden and replayed', async () => {
  const server = answersServer({
    tools: [anyTool('find')],
    results: { find: [{ content: [{ type: 'resource_link', uri: 'memo://a', name: 'a' }] }] },
    resources: { 'memo://a': [{ uri: 'memo://a', text: 'open' }] },
  });
  const path = join(mkdtempSync(join(tmpdir(), 'linked-')), 'linked.json');
  const script = [
    { calls: [{ name: 's__find' }] },
    { calls: [{ name: 'read_resource', arguments: { uri: 'memo://a' } }] },
    { text: 'open' },
  ];
  await tryGhost('openai', script, {
    serverConfig: { mcpServers: { s: server } },
    golden: { mode: 'record', path },
  });
  const { findings } = await replayGolden(path);
  assert.deepEqual(findings, []);
  rmSync(dirname(path), { recursive: true });
});

test('tools that a server lists twice are reported, and offered once', async () => {
  const server = answersServer({
    tools: [anyTool('a'), anyTool('b'), anyTool('a'), { ...anyTool('a'), description: 'another' }],
    results: { a: [textResult('1')] },
  });
  const { result, model, events } = await tryGhost('openai', [{ text: 'ok' }], {
    serverConfig: { mcpServers: { s: server } },
  });
  assert.deepEqual(model.requests[0]?.toolNames, ['s__a', 's__b']);
  const doubled = [{ toolName: 's.a', reason: 'the server lists another tool with this name' }];
  assert.deepEqual(result.executionMetadata.quarantinedTools, doubled);
  assert.equal(events.filter(({ type }) => type === 'tool_quarantined').length, 1);
});

test('the size of base64 counts neither padding nor line breaks', () => {
  const sizeOf = (data: string) =>
    /(\d+) bytes/.exec(showResult({ content: [{ type: 'audio', mimeType: 'a/b', data }] }).text)?.[1];
  for (let length = 0; length < 50; length += 1) {
    const data = Buffer.alloc(length, 7).toString('base64');
    assert.equal(sizeOf(data), String(length));
    assert.equal(sizeOf(`${data.slice(0, 4)}\r\n${data.slice(4)}`), String(length));
  }
});

test('references of cut results follow the order of the calls, whichever of them ends first', async () => {
  const secondEnded = new EventEmitter();
  await using served = await serveMcp(() => {
    const server = new McpServer({ name: 'long', version: '1' });
    const long = (letter: string) => ({ content: [{ type: 'text' as const, text: letter.repeat(5_000) }] });
    server.registerTool('first', {}, async () => {
      await once(secondEnded, 'ended');
      return long('a');
    });
    server.registerTool('second', {}, () => long('b'));
    return server;
  });
  const { model } = await tryGhost(
    'openai',
    [{ calls: [{ name: 'long__first' }, { name: 'long__second' }] }, { text: 'Done.' }],
    {
      serverConfig: { mcpServers: { long: { url: served.url } } },
      maxResultChars: 1_000,
      onEvent: (event) => {
        if (event.type === 'tool_finished' && event.toolName === 'long.second') secondEnded.emit('ended');
      },
    },
  );
  const shown = model.requests[1]?.lastResults.map(({ text }) => text.match(/^[ab]|result_\d/g));
  assert.deepEqual(shown, [
    ['a', 'result_1'],
    ['b', 'result_2'],
  ]);
});
