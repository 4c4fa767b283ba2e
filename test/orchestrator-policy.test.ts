import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { policyToolGate } from '../src/orchestrator/index.ts';
import { AuditLog, PolicyGate, verifyAudit } from '../src/policy/index.ts';
import { serveShelf } from './support/example-servers.ts';
import { PROVIDERS, replayGhost } from './support/ghost.ts';

const sharepoint = await serveShelf('mcp-sharepoint');
after(() => sharepoint[Symbol.asyncDispose]());
const serverConfig = { mcpServers: { 'mcp-sharepoint': { url: sharepoint.url } } };
const FETCH = 'mcp-sharepoint__fetch_sharepoint_doc';
const DELETE = 'mcp-sharepoint__delete_sharepoint_doc';

for (const { provider } of PROVIDERS) {
  test(`${provider}: a policy gate lets a run list and call only what the allowlist names`, async () => {
    using gate = new PolicyGate({ policy: { 'mcp-sharepoint': ['fetch_sharepoint_doc'] } });
    const { result, model } = await replayGhost(
      'policy/policy_gate',
      provider,
      [
        {
          calls: [
            { name: FETCH, arguments: { doc_id: 'sp-001' } },
            { name: DELETE, arguments: { doc_id: 'sp-001' } },
            { name: FETCH, arguments: { doc_id: 'sp-001', force: true } },
          ],
        },
        { text: 'done' },
      ],
      { serverConfig, gate },
    );
    assert.deepEqual(model.requests[0]?.toolNames, [FETCH]);
    const [fetched, deleted, padded] = result.toolChain;
    assert.equal(fetched?.success, true);
    assert.match(JSON.stringify(fetched?.result), /sp-001/);
    assert.equal(deleted?.success, false);
    assert.equal(padded?.success, false, 'an argument the schema does not know is refused');
  });
}

test('a policy that cannot be read hides every tool', async () => {
  using gate = new PolicyGate({ policy: '/nowhere/allowlist.json' });
  const { model, result } = await replayGhost(
    'policy/unreadable_policy',
    'openai',
    [{ calls: [{ name: FETCH, arguments: { doc_id: 'sp-001' } }] }, { text: 'no tools' }],
    { serverConfig, gate },
  );
  assert.deepEqual(model.requests[0]?.toolNames, []);
  assert.equal(result.toolChain[0]?.success, false);
});

test('with an audit, each decision and each end of a call of a run is on the chain', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'audit-'));
  try {
    using gate = new PolicyGate({ policy: { 'mcp-sharepoint': ['fetch_sharepoint_doc'] } });
    const audit = new AuditLog({ dir }).startRun();
    await replayGhost(
      'policy/audit',
      'openai',
      [
        {
          calls: [
            { name: FETCH, arguments: { doc_id: 'sp-001' } },
            { name: FETCH, arguments: { doc_id: 5 } },
          ],
        },
        { text: 'done' },
      ],
      { serverConfig, gate: policyToolGate({ gate, audit }) },
    );
    const report = await verifyAudit(dir);
    assert.deepEqual(report.problems, []);
    // Two decisions and the end of the one call that was made, beside the opening of the run.
    assert.ok(report.records >= 3, `${report.records} records`);
  } finally {
    await rm(dir, { recursive: true });
  }
});
