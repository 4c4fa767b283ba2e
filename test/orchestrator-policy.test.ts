import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PolicyGate, verifyAudit } from '../src/policy/index.ts';
import { auditRecords } from './support/audit-records.ts';
import { serveShelf } from './support/example-servers.ts';
import { PROVIDERS, replayGhost } from './support/ghost.ts';
import { tempDir } from './support/temp-dir.ts';

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
      { serverConfig, gate, audit: false },
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
    { serverConfig, gate, audit: false },
  );
  assert.deepEqual(model.requests[0]?.toolNames, []);
  assert.equal(result.toolChain[0]?.success, false);
});

test('a gated run is a run of the audit: each decision, start and end of a call is on the chain, once', async () => {
  const dir = tempDir();
  using gate = new PolicyGate({ policy: { 'mcp-sharepoint': ['fetch_sharepoint_doc'] } });
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
    { serverConfig, gate, audit: dir, caller: 'alice' },
  );
  const report = await verifyAudit(dir);
  assert.deepEqual([report.problems, report.unfinished, report.runs], [[], [], 1]);
  assert.deepEqual(
    auditRecords(dir).map(({ event, outcome, reason_code, caller, result }) => [
      event,
      outcome ?? reason_code ?? result,
      caller,
    ]),
    [
      ['run_started', undefined, 'alice'],
      ['call_decided', 'allowed', 'alice'],
      ['call_started', undefined, undefined],
      ['call_decided', 'args_invalid', 'alice'],
      ['call_finished', 'accepted', undefined],
      ['run_finished', 'completed', undefined],
    ],
  );
});
