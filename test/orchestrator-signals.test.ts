import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { PROVIDERS, replayGhost } from './support/ghost.ts';
import { startHttpMcpServer } from './support/http-mcp-server.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry(new ObservatorySpanProcessor());
after(() => telemetry.shutdown());

for (const { provider, model } of PROVIDERS) {
  test(`${provider}: hashes, grounding, tool claims and governance stand on the spans with no code of the user`, async () => {
    telemetry.reset();
    await using mcp = await startHttpMcpServer();
    await replayGhost(
      'spans/signals',
      provider,
      [
        { calls: [{ name: 'http__add', arguments: { a: 20, b: 22 } }, { name: 'http__refuse' }] },
        { text: 'The sum is 42; everything completed successfully.' },
      ],
      { serverConfig: { mcpServers: { http: { url: mcp.url } } }, govern: { riskTier: 'high' } },
    );
    const spans = telemetry.spans;
    const answer = spans.filter((span) => span.name === `chat ${model}`).at(-1)?.attributes ?? assert.fail();
    assert.match(String(answer['observatory.prompt_hash']), /^[0-9a-f]{64}$/);
    assert.match(String(answer['observatory.answer_hash']), /^[0-9a-f]{64}$/);
    assert.equal(typeof answer['observatory.grounding_score'], 'number');
    assert.equal(answer['observatory.tool_claim_mismatch'], true, 'success is claimed over a failed tool');
    assert.equal(answer['observatory.evidence_risk_level'], 'high');
    const findings: unknown = JSON.parse(String(answer['observatory.evidence_findings']));
    assert.deepEqual(findings, [
      { kind: 'tool_failed_claimed_success', start: 15, end: 49, step: 1, tool: 'http__refuse' },
    ]);
    assert.equal(answer['observatory.risk_tier'], 'high');
    const call = spans.find((span) => span.name === 'tools/call add')?.attributes ?? assert.fail();
    assert.match(String(call['observatory.tool_args_hash']), /^[0-9a-f]{64}$/);
    assert.equal(call['observatory.risk_tier'], 'high');
    // The agent's sum is no cost of its own: it would count every call twice.
    const agent = spans.find((span) => span.name === 'invoke_agent mcp_ghost')?.attributes ?? assert.fail();
    assert.equal(agent['observatory.cost_usd'], undefined);
  });
}
