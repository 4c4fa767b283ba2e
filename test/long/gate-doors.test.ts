/** One policy at every door: the 339 calls of AgentDojo's tasks, through each of them. */
import { after, before, test } from 'node:test';
import { needsData } from '../support/data.ts';
import { FreshApps } from '../support/fresh-app.ts';
import { assertSameDecisions, assertSameDecisionsHere } from '../support/gate-doors.ts';

let apps: FreshApps;
let folder: string;
before(async () => {
  apps = await FreshApps.start();
  folder = await apps.frames();
});
after(() => apps[Symbol.asyncDispose]());

for (const door of ['gate plan', 'gateClient', 'hook'] as const)
  test(`${door} decides as the gate`, needsData('policy'), () => assertSameDecisionsHere(door));

for (const door of ['plain', 'ai-7', 'ai-7-approval', 'langgraph', 'agents', 'mastra'])
  test(`tools gated by ${door} get the decisions of the gate`, needsData('policy'), () =>
    assertSameDecisions(apps, folder, door),
  );
