import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type GhostOptions, mcpGhost, readGolden, replayGolden, toMatchGolden } from '../src/golden/index.ts';
import { PROVIDERS, scenarioServer } from './support/ghost.ts';
import { ScriptedProvider } from './support/scripted-provider.ts';
import { sized } from './support/size.ts';

const folder = await mkdtemp(join(tmpdir(), 'golden-secrets-'));
after(() => rm(folder, { recursive: true }));

/** One in every place a secret has been seen to come from. None has a form that alone would give it away. */
const PLANTED = {
  apiKey: 'plain-looking-key-of-the-user',
  cookie: 'session-crumb-8812',
  organisation: 'acme-internal-organisation',
  environment: 'database-password-value',
  header: 'tenant-token-of-the-server',
  variable: 'correct horse battery',
};
/** Known by their form, wherever they stand. */
const FORMED = ['sk-abcdefghijklmnop1234567890', 'org-AbCdEfGhIjKlMnOpQrSt', 'AKIAIOSFODNN7EXAMPLE'];

for (const { provider, model } of sized(PROVIDERS.slice(0, 1), PROVIDERS)) {
  test(`${provider}: no secret gets into a golden, and it still replays`, async () => {
    const path = join(folder, `${provider}.json`);
    process.env.PLANTED_PASSWORD = PLANTED.variable;
    after(() => delete process.env.PLANTED_PASSWORD);
    const headers = {
      'set-cookie': `__cf_bm=${PLANTED.cookie}; path=/; HttpOnly`,
      'openai-organization': PLANTED.organisation,
      'anthropic-organization-id': PLANTED.organisation,
      'x-request-id': 'req_0001',
    };
    await using scripted = await ScriptedProvider.start([
      {
        calls: [
          {
            name: 'scenario__echo',
            arguments: {
              text: `${PLANTED.environment} ${PLANTED.variable} ${FORMED.join(' ')} ${PLANTED.cookie}`,
            },
          },
        ],
        headers,
      },
      {
        status: 429,
        errorType: 'rate_limit_error',
        text: `Rate limit in organization ${FORMED[1]} of ${PLANTED.organisation}`,
        headers: { ...headers, 'retry-after': '0' },
      },
      { text: `The key is ${PLANTED.apiKey}; ${FORMED[0]}`, headers },
    ]);
    const mcpServers = {
      scenario: { ...scenarioServer(), env: { DB_PASSWORD: PLANTED.environment } },
      remote: {
        url: 'http://user:pass@127.0.0.1:9/mcp?token=query-token-value',
        headers: { 'X-Tenant': PLANTED.header },
      },
    };
    const options: GhostOptions = {
      // Both forms of a server config.
      serverConfig: provider === 'gemini' ? mcpServers : { mcpServers },
      systemPrompt: 'You are a test.',
      userPrompt: `Do not keep ${FORMED[2]} nor ${PLANTED.variable}. Reset the password: hunter22 for bob.`,
      provider,
      model,
      apiKey: PLANTED.apiKey,
      baseUrl: scripted.baseUrl(provider),
      retry: { initialDelayMs: 1, maxDelayMs: 2 },
    };
    await mcpGhost({ ...options, golden: { mode: 'record', path } });
    const text = await readFile(path, 'utf8');
    for (const secret of [
      ...Object.values(PLANTED),
      ...FORMED,
      'query-token-value',
      'hunter22',
      'user:pass',
      'req_0001',
    ]) {
      assert.ok(!text.includes(secret), `${secret} is in the golden`);
    }
    assert.ok(!/authorization|cookie|organization-id|x-goog-api-key/i.test(text), 'no header but those kept');
    const golden = await readGolden(path);
    assert.deepEqual(golden.input.server_config?.mcpServers, {
      scenario: { ...scenarioServer(), env: { DB_PASSWORD: `\${DB_PASSWORD}` } },
      remote: { url: 'http://127.0.0.1:9/mcp', headers: { 'X-Tenant': `\${X_TENANT}` } },
    });
    assert.deepEqual((await replayGolden(path)).findings, []);
    // Who replays has this password or another.
    for (const password of [PLANTED.variable, 'hunter2']) {
      const userPrompt = options.userPrompt.replace(PLANTED.variable, password);
      const result = await mcpGhost({ ...options, userPrompt, golden: { mode: 'replay', path } });
      await toMatchGolden(result, path, { replayed: true });
    }
  });
}
