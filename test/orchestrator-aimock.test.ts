import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import { mcpGhost } from '../src/golden/index.ts';
import { PROVIDERS } from './support/ghost.ts';
import { startHttpMcpServer } from './support/http-mcp-server.ts';

const RESPONSES = { provider: 'openai', model: 'gpt-5.1-codex', api: 'responses' };
const RUNS = [...PROVIDERS.map((one) => ({ ...one, api: undefined })), RESPONSES];

for (const { provider, model, api } of RUNS) {
  test(`${[provider, api].join(' ').trim()}: a run against a model server nobody here wrote`, async () => {
    const mock = new LLMock({ port: 0 });
    const task = 'what is 20 and 22?';
    mock.on(
      { userMessage: task, hasToolResult: false },
      { toolCalls: [{ name: 'http__add', arguments: JSON.stringify({ a: 20, b: 22 }) }] },
    );
    mock.on({ userMessage: task, hasToolResult: true }, { content: 'It is 42.' });
    await mock.start();
    await using mcp = await startHttpMcpServer();
    try {
      const result = await mcpGhost({
        serverConfig: { mcpServers: { http: { url: mcp.url } } },
        systemPrompt: 'You add.',
        userPrompt: task,
        provider,
        model,
        api,
        apiKey: 'test-key',
        baseUrl: provider === 'openai' ? `${mock.url}/v1` : mock.url,
        retry: { maxAttempts: 1 },
      });
      assert.equal(result.success, true, `${result.summary} ${JSON.stringify(result.errors)}`);
      assert.equal(result.finalResult, 'It is 42.');
      assert.deepEqual(
        result.toolChain.map((entry) => [entry.toolName, entry.result]),
        [['http.add', '42']],
      );
    } finally {
      await mock.stop();
    }
  });
}
