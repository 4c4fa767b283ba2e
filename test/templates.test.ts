import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { context, diag } from '@opentelemetry/api';
import { gateCommand } from '../src/cli/gate.ts';
import { templatesCommand } from '../src/cli/templates.ts';
import { govern, instrument, openDatabase, PostgresSpanExporter } from '../src/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { databaseStatus } from '../src/postgres/index.ts';
import { tempFile } from './support/policy-fixtures.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';
import { Telemetry } from './support/telemetry.ts';

const skip = noPostgres();
let server: PostgresServer;

before(async () => {
  if (skip === false) server = await startPostgres();
});
// instrument() with an exporter registers both where there is none.
afterEach(() => {
  context.disable();
  diag.disable();
});
after(async () => {
  await server?.stop();
});

test('calls that name no template are counted by service, tool and model; those that do are not', {
  skip,
}, async () => {
  const url = await server.createDatabase();
  const report = (...flags: string[]) => runCommand(templatesCommand, ['--database-url', url, ...flags]);
  await using exporter = new PostgresSpanExporter({ connection: url, migrate: true });
  const interceptor = instrument({ serviceName: 'pay', exporter });
  const call = { model: 'gpt-4o', prompt: 'Invoice 1', response: 'ok' };
  await interceptor.interceptModelCall({ ...call, promptTemplateId: 'risk-v3' });
  await interceptor.interceptModelCall({ ...call, toolName: 'review' });
  await interceptor.interceptModelCall({ ...call, toolName: 'review', prompt: 'Invoice 2' });
  await interceptor.interceptModelCall({ ...call, model: 'm\u001b[31m', prompt: 'Other' });
  // What is no model call has no template.
  await interceptor.interceptToolCall({ toolName: 't', call: () => 1 });
  const fallback = {
    fallbackType: 'template',
    fallbackReason: 'low_confidence',
    prompt: 'p',
    call: () => 'x',
  };
  await interceptor.recordFallback(fallback);
  await interceptor.shutdown();

  const { code, rows } = await report('--json');
  assert.equal(code, 0);
  const { calls, untemplated, untemplated_share, groups } = rows[0] ?? {};
  assert.deepEqual([calls, untemplated, untemplated_share], [4, 3, 0.75]);
  assert.deepEqual(
    (groups as Record<string, unknown>[]).map(({ last_seen, ...group }) => [group, typeof last_seen]),
    [
      // The two prompts differ in a number only.
      [
        { service: 'pay', tool_name: 'review', model: 'gpt-4o', calls: 2, untemplated: 2, prompts: 1 },
        'string',
      ],
      [
        { service: 'pay', tool_name: null, model: 'm\u001b[31m', calls: 1, untemplated: 1, prompts: 1 },
        'string',
      ],
    ],
  );
  const text = await report();
  assert.match(text.stdout, /3 of 4 model calls .* name no prompt template \(75\.0 %\)/);
  assert.ok(!text.stdout.includes('\u001b'));
  assert.deepEqual(
    await Promise.all(['0.75', '0.74', '0'].map(async (share) => (await report('--fail-over', share)).code)),
    [0, 1, 1],
  );
  assert.equal((await report('--service', 'other', '--fail-over', '0')).code, 0);
  await assert.rejects(report('--since', '0d'), { code: 'INVALID_OPTION' });
  await assert.rejects(report('--fail-over', '2'), { code: 'INVALID_OPTION' });
  await using db = await openDatabase({ url });
  const { table } = await databaseStatus(db);
  assert.deepEqual([table?.modelCalls, table?.untemplatedCalls], [4, 3]);
});

test('gate plan and gate explain take the template that a policy requires', async () => {
  const rules = [{ id: 'r', effect: 'allow', server: 's', tool: 't' }];
  const policy = tempFile('policy.json', { version: 1, prompt_template: 'required', rules });
  const tools = tempFile('tools.json', { s: { tools: [{ name: 't', inputSchema: { type: 'object' } }] } });
  const flags = ['--policy', policy, '--tools', tools];
  const call = { server: 's', tool: 't', args: {} };
  const raw = { type: 'call_tool', ...call };
  const lines = [{ raw }, { raw, prompt_template_id: 'v1' }].map((line) => JSON.stringify(line));
  const plan = await runCommand(gateCommand, ['plan', ...flags], lines);
  const explain = async (...more: string[]) =>
    (await runCommand(gateCommand, ['explain', JSON.stringify(call), ...flags, '--json', ...more])).rows[0];
  const decided = [...plan.rows, await explain(), await explain('--prompt-template', 'v1')];
  assert.deepEqual(
    decided.map((row) => row?.reason_code),
    ['prompt_template_missing', 'allowed', 'prompt_template_missing', 'allowed'],
  );
});

test('a policy can require a prompt template: of the call, or of govern() around it', async () => {
  const tools = { s: { tools: [{ name: 't', inputSchema: { type: 'object' } }] } };
  const rules = [{ id: 'r', effect: 'allow', server: 's', tool: 't' }];
  using gate = new PolicyGate({ policy: { version: 1, prompt_template: 'required', rules }, tools });
  const call = { server: 's', tool: 't', args: {} };
  const reason = (more: object = {}) => gate.evaluate({ ...call, ...more }).reasonCode;
  assert.equal(gate.problem, undefined);
  assert.equal(reason(), 'prompt_template_missing');
  assert.equal(reason({ promptTemplateId: ' ' }), 'prompt_template_missing');
  assert.equal(reason({ promptTemplateId: 'risk-v3' }), 'allowed');
  assert.equal(reason({ promptTemplateId: 'risk-v3', tool: 'other' }), 'tool_unknown');

  await using _telemetry = new Telemetry();
  assert.equal(
    govern({ promptTemplateId: 'risk-v3' }, () => reason()),
    'allowed',
  );
  assert.equal(
    govern({ riskTier: 'high' }, () => reason()),
    'prompt_template_missing',
  );
});
