/** What a server asks of the host through `handlers`, with a server of the official SDK in a process of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PolicyGate, PolicyHost } from '../src/policy/index.ts';
import { auditRecords } from './support/audit-records.ts';
import { call, script } from './support/example-servers.ts';
import { tryGhost } from './support/ghost.ts';
import { serverFile } from './support/server-file.ts';
import { tempDir } from './support/temp-dir.ts';

const entry = {
  command: process.execPath,
  args: [serverFile('asking')],
};
const METHODS = ['sampling/createMessage', 'elicitation/create', 'roots/list'];

function makeHandlers() {
  const asked: string[] = [];
  const note = <T>(what: string, answer: T): T => {
    asked.push(what);
    return answer;
  };
  const sampled = { role: 'assistant', content: { type: 'text', text: 'sampled' }, model: 'm' };
  return {
    asked,
    handlers: {
      onSampling: () => note('sampling', sampled),
      onElicitation: () => note('elicitation', { action: 'accept' as const, content: { name: 'Ada' } }),
      roots: [{ uri: 'file:///projects' }],
    },
  };
}

function openGate(word: 'allow' | 'deny'): PolicyGate {
  const rules = [{ id: 'ask', effect: 'allow', server: 's', tool: 'ask' }];
  const servers = { s: { sampling: word, elicitation: word, roots: word } };
  return new PolicyGate({ policy: { version: 1, rules, servers } });
}

/** What the server's tool was answered, through PolicyHost or mcpGhost. */
const WAYS = {
  PolicyHost: async (gate: PolicyGate, dir: string, handlers: object): Promise<string> => {
    await using host = await PolicyHost.open({
      gate,
      planner: script(call('s', 'ask', {})),
      servers: { s: entry },
      audit: dir,
      summarize: false,
      handlers,
    });
    return JSON.stringify(await host.askOnce('go'));
  },
  mcpGhost: async (gate: PolicyGate, dir: string, handlers: object): Promise<string> => {
    const serverConfig = { mcpServers: { s: entry } };
    const turns = [{ calls: [{ name: 's__ask' }] }, { text: 'done' }];
    const { result } = await tryGhost('openai', turns, { serverConfig, gate, audit: dir, handlers });
    return JSON.stringify(result.toolChain);
  },
};

for (const [way, run] of Object.entries(WAYS)) {
  test(`${way}: the handlers answer a server only where the policy says so, and each request is recorded`, async () => {
    for (const word of ['allow', 'deny'] as const) {
      const { asked, handlers } = makeHandlers();
      const dir = tempDir();
      using gate = openGate(word);
      const answered = await run(gate, dir, handlers);
      const decided = auditRecords(dir).filter(({ event, method }) => event === 'call_decided' && method);
      assert.deepEqual(
        decided.map(({ method, decision }) => [method, decision]),
        METHODS.map((method) => [method, word]),
      );
      assert.deepEqual(asked, word === 'allow' ? ['sampling', 'elicitation'] : []);
      for (const said of ['sampled', 'Ada', 'file:///projects'])
        assert.equal(answered.includes(said), word === 'allow', `${said}: ${answered}`);
      if (word === 'deny') assert.match(answered, /request_not_allowed/);
    }
  });
}
