import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { PROVIDERS, replayGhost } from './support/ghost.ts';
import { type HttpMcpServer, startHttpMcpServer } from './support/http-mcp-server.ts';
import { Telemetry } from './support/telemetry.ts';

let telemetry: Telemetry;
let mcp: HttpMcpServer;

before(async () => {
  telemetry = new Telemetry(new ObservatorySpanProcessor({ captureContent: true }));
  mcp = await startHttpMcpServer();
});
beforeEach(() => telemetry.reset());
after(async () => {
  await mcp[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

const json = (value: unknown): unknown => JSON.parse(String(value));

for (const { provider } of PROVIDERS) {
  test(`${provider}: with content capture a run's spans hold messages, calls, results and tools as they were`, async () => {
    await replayGhost(
      'spans/content_capture',
      provider,
      [
        { calls: [{ name: 'http__add', arguments: { a: 20, b: 22 } }] },
        { calls: [{ name: 'http__refuse' }] },
        { text: 'It is 42.' },
      ],
      { serverConfig: { mcpServers: { http: { url: mcp.url } } } },
    );
    const chats = telemetry.spans.filter((span) => span.name.startsWith('chat '));
    const [first, second, third] = chats.map((span) => span.attributes);
    const [system] = json(first?.['gen_ai.system_instructions']) as { content: string }[];
    assert.match(system?.content ?? '', /^You are a test\./);
    assert.deepEqual(json(first?.['gen_ai.input.messages']), [
      { role: 'user', parts: [{ type: 'text', content: 'Do the task.' }] },
    ]);
    const [said] = json(first?.['gen_ai.output.messages']) as {
      parts: { id: string; name: string; arguments: unknown }[];
      finish_reason: string;
    }[];
    assert.equal(said?.finish_reason, 'tool_call');
    assert.equal(said?.parts[0]?.name, 'http__add');
    assert.deepEqual(said?.parts[0]?.arguments, { a: 20, b: 22 });
    const tools = json(first?.['gen_ai.tool.definitions']) as { name: string; parameters: object }[];
    assert.ok(tools.some(({ name }) => name === 'http__add'));
    const input = json(second?.['gen_ai.input.messages']) as { role: string; parts: object[] }[];
    assert.deepEqual(input.at(-1)?.parts, [
      {
        type: 'tool_call_response',
        id: said?.parts[0]?.id,
        name: 'http__add',
        response: '42',
        is_error: false,
      },
    ]);
    assert.equal(
      (json(third?.['gen_ai.output.messages']) as { finish_reason: string }[])[0]?.finish_reason,
      'stop',
    );

    const [add, refuse] = telemetry.spans.filter((span) => span.name.startsWith('tools/call'));
    assert.equal(add?.attributes['observatory.mcp_server'], 'http');
    assert.deepEqual(json(add?.attributes['gen_ai.tool.call.arguments']), { a: 20, b: 22 });
    assert.deepEqual(json(add?.attributes['gen_ai.tool.call.result']), {
      content: [{ type: 'text', text: '42' }],
    });
    assert.equal((json(refuse?.attributes['gen_ai.tool.call.result']) as { isError: boolean }).isError, true);
    assert.match(String(refuse?.status.message), /private detail: 4711/);
  });
}
