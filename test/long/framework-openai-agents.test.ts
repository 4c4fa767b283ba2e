/** The OpenAI Agents SDK, in an application made by this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FreshApps } from '../support/fresh-app.ts';
import { assertHolds } from '../support/gate-doors.ts';
import { assertNoContent, assertOneRun, assertStored } from '../support/one-run.ts';
import { assertTaped } from '../support/taped-program.ts';

let apps: FreshApps;
let folder: string;
before(async () => {
  apps = await FreshApps.start();
  folder = await apps.frames();
});
after(() => apps[Symbol.asyncDispose]());

for (const API of ['responses', 'chat']) {
  for (const MODE of ['plain', 'stream']) {
    test(`OpenAI Agents SDK, ${API}, ${MODE}: a run is one trace, its output as without us`, async () => {
      const env = { API, MODE };
      const bare = await apps.run(folder, 'openai-agents.mjs', { flags: [], env });
      const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'openai-agents.mjs', {
        env,
        isStored: true,
      });
      assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
      assert.equal(stdout, 'done\n');
      const run = assertOneRun(spans);
      assertNoContent(spans);
      assertStored(sums, 2, 'echo > echo');
      const names = run.map(({ name }) => name);
      for (const name of ['invoke_workflow Agent workflow', 'invoke_agent greeter', 'chat gpt-4o']) {
        assert.ok(names.includes(name), name);
      }
    });
  }
}

test('OpenAI Agents SDK: a call is held for a person', async () => {
  await assertHolds(apps, folder, 'agents');
});

test('OpenAI Agents SDK: a recorded program replays alike, and each departure is named', async () => {
  await assertTaped(apps, folder, 'tape-agents.mjs');
});
