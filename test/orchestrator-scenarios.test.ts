import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { GhostResult } from '../src/orchestrator/index.ts';
import { serveShelf, stdio } from './support/example-servers.ts';
import { chainOf, npmServer, PROVIDERS, replayGhost, scenarioServer } from './support/ghost.ts';
import { serveMcp } from './support/http-mcp-server.ts';
import { createScenario } from './support/scenario-tools.ts';
import type { Turn } from './support/scripted-provider.ts';
import type { SeenRequest } from './support/scripted-request.ts';
import { longTest, sized } from './support/size.ts';

/** For the scenarios in which nothing happens to the server itself: it need not be a process of its own. */
const inProcess = await serveMcp(() => createScenario());
const shelves = {
  'mcp-sharepoint': await serveShelf('mcp-sharepoint'),
  'mcp-servicenow': await serveShelf('mcp-servicenow'),
};
/** In full over stdio for one provider and over HTTP for the others, which must take the same course. */
const OVER_STDIO = sized('none', 'openai');
const scenarioFor = (provider: string) =>
  provider === OVER_STDIO ? scenarioServer() : { url: inProcess.url };
const shelfFor = (provider: string, id: keyof typeof shelves) =>
  provider === OVER_STDIO ? stdio(id) : { url: shelves[id].url };
/** Scenarios that start processes: with one provider here, with all of them in the long tests. */
const WITH_PROCESSES = sized(PROVIDERS.slice(0, 1), PROVIDERS);
let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'scenario-'));
});
after(async () => {
  for (const server of [inProcess, ...Object.values(shelves)]) await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Runs the same scenario with several providers, side by side, and checks that each took the same course. */
async function withAll(
  name: string,
  script: (provider: string) => readonly Turn[] | ((seen: SeenRequest, index: number) => Turn),
  options: (provider: string) => Parameters<typeof replayGhost>[3],
  check: (result: GhostResult, trial: Awaited<ReturnType<typeof replayGhost>>, provider: string) => void,
  providers: typeof PROVIDERS = PROVIDERS,
): Promise<void> {
  const chains = await Promise.all(
    providers.map(async ({ provider }) => {
      const trial = await replayGhost(`scenarios/${name}`, provider, script(provider), options(provider));
      assert.deepEqual(trial.model.refused, [], `${provider} accepts every request`);
      check(trial.result, trial, provider);
      return chainOf(trial.result);
    }),
  );
  assert.equal(chains.length, providers.length);
  for (const chain of chains) assert.deepEqual(chain, chains[0]);
}

longTest('a chain of six calls over three servers, values handed from one to the next', async () => {
  await withAll(
    'chain_over_three_servers',
    () => [
      { text: 'First I add.', calls: [{ name: 'scenario__add', arguments: { a: 2, b: 3 } }] },
      { calls: [{ name: 'everything__echo', arguments: { message: 'sum is 5' } }] },
      { calls: [{ name: 'files__write_file', arguments: { path: 'note.txt', content: 'sum is 5' } }] },
      { calls: [{ name: 'files__read_text_file', arguments: { path: 'note.txt' } }] },
      { calls: [{ name: 'scenario__find_customer', arguments: { id: 'C17' } }] },
      { calls: [{ name: 'scenario__search_customer', arguments: { name: 'Paris-7' } }] },
      { text: 'The sum is 5 and Ada lives in Paris-7.' },
    ],
    (provider) => {
      // The server works in the folder, so that the model need not name it.
      const cwd = join(folder, provider);
      mkdirSync(cwd);
      return {
        serverConfig: {
          mcpServers: {
            scenario: scenarioFor(provider),
            everything: npmServer('everything'),
            files: { ...npmServer('filesystem', [cwd]), cwd },
          },
        },
      };
    },
    (result, _trial, provider) => {
      assert.equal(result.success, true, result.summary);
      assert.equal(result.finalResult, 'The sum is 5 and Ada lives in Paris-7.');
      assert.equal(result.toolChain.length, 6);
      assert.ok(result.toolChain.every((entry) => entry.success));
      assert.equal(result.toolChain[0]?.reasoning, 'First I add.');
      assert.deepEqual(result.toolChain[5]?.dependsOn, [4], 'the city came from the customer');
      assert.equal(readFileSync(join(folder, provider, 'note.txt'), 'utf8'), 'sum is 5');
      const { tokenUsage, ...metadata } = result.executionMetadata;
      assert.equal(tokenUsage.promptTokens, 700);
      assert.equal(tokenUsage.completionTokens, 140);
      assert.equal(metadata.serversConnected, 3);
      assert.equal(metadata.successRate, 100);
      assert.deepEqual(result.errors, []);
      assert.equal(result.reasoningTrail.length, 7);
    },
    WITH_PROCESSES,
  );
});

longTest(
  'a chain through a knowledge graph and the project’s own servers: what one stores another gets',
  async () => {
    await withAll(
      'knowledge_graph',
      () => [
        { calls: [{ name: 'sharepoint__fetch_sharepoint_doc', arguments: { doc_id: 'sp-001' } }] },
        {
          calls: [
            {
              name: 'memory__create_entities',
              arguments: {
                entities: [{ name: 'sp-001', entityType: 'document', observations: ['Never log secrets.'] }],
              },
            },
          ],
        },
        { calls: [{ name: 'memory__search_nodes', arguments: { query: 'secrets' } }] },
        { calls: [{ name: 'tickets__get_ticket', arguments: { ticket_id: 'no such ticket' } }] },
        { calls: [{ name: 'memory__open_nodes', arguments: { names: ['sp-001'] } }] },
        { text: 'Secrets are never logged.' },
      ],
      (provider) => ({
        serverConfig: {
          mcpServers: {
            sharepoint: shelfFor(provider, 'mcp-sharepoint'),
            tickets: shelfFor(provider, 'mcp-servicenow'),
            memory: npmServer('memory', [], { MEMORY_FILE_PATH: join(folder, `memory-${provider}.jsonl`) }),
          },
        },
      }),
      (result, _trial, provider) => {
        assert.equal(result.success, true, result.summary);
        assert.equal(result.toolChain.length, 5);
        assert.match(JSON.stringify(result.toolChain[0]?.result), /Never log secrets/);
        assert.match(JSON.stringify(result.toolChain[2]?.result), /sp-001/);
        assert.match(readFileSync(join(folder, `memory-${provider}.jsonl`), 'utf8'), /Never log secrets/);
      },
      WITH_PROCESSES,
    );
  },
);

longTest('parallel calls run side by side and come back in the order of the calls', async () => {
  await withAll(
    'parallel_calls',
    () => [
      {
        calls: [
          { name: 'scenario__slow_report', arguments: { ms: 600 } },
          { name: 'scenario__add', arguments: { a: 1, b: 1 } },
          { name: 'scenario__slow_report', arguments: { ms: 599 } },
        ],
      },
      { text: 'done' },
    ],
    (provider) => ({ serverConfig: { mcpServers: { scenario: scenarioFor(provider) } } }),
    (result, { model, events }) => {
      assert.deepEqual(
        model.requests[1]?.lastResults.map((one) => one.text),
        ['the report', '2', 'the report'],
      );
      const steps = events.flatMap(({ type }) => (/^tool_(started|finished)$/.test(type) ? [type] : []));
      assert.deepEqual(steps.slice(0, 3), ['tool_started', 'tool_started', 'tool_started']);
      const finish = result.executionMetadata.toolPerformance.find((one) =>
        one.toolName.endsWith('slow_report'),
      );
      assert.equal(finish?.calls, 2);
    },
  );
});

test('a call that fails is retried with other arguments, and the recovery is on record', async () => {
  await withAll(
    'retry_with_other_arguments',
    () => [
      { calls: [{ name: 'scenario__find_customer', arguments: { id: '17' } }] },
      { calls: [{ name: 'scenario__find_customer', arguments: { id: 'C17' } }] },
      { text: 'Ada.' },
    ],
    () => ({ serverConfig: { mcpServers: { scenario: { url: inProcess.url } } } }),
    (result, { model, events }) => {
      assert.equal(result.success, true);
      assert.deepEqual(
        result.toolChain.map((entry) => entry.retryAttempt),
        [0, 1],
      );
      assert.deepEqual(
        result.errors.map((error) => error.recoveryAction),
        ['retry_with_modified_arguments'],
      );
      assert.match(result.errors[0]?.error ?? '', /write C and digits/);
      assert.equal(result.executionMetadata.backtrackCount, 1);
      assert.equal(result.executionMetadata.successRate, 50);
      assert.match(model.requests[1]?.text ?? '', /The previous approach failed/);
      assert.ok(events.some((event) => event.type === 'backtrack'));
    },
  );
});

test('a tool that keeps failing leads to another tool, then to splitting and rethinking', async () => {
  await withAll(
    'other_tool',
    () => [
      { calls: [{ name: 'scenario__find_customer', arguments: { id: 'x' } }] },
      { calls: [{ name: 'scenario__find_customer', arguments: { id: 'y' } }] },
      { calls: [{ name: 'scenario__find_customer', arguments: { id: 'z' } }] },
      { calls: [{ name: 'scenario__search_customer', arguments: { name: 'Ada' } }] },
      { text: 'Found.' },
    ],
    () => ({ serverConfig: { mcpServers: { scenario: { url: inProcess.url } } } }),
    (result, { model }) => {
      assert.deepEqual(
        result.errors.map((error) => error.recoveryAction),
        ['retry_with_modified_arguments', 'alternative_tool', 'context_clarification'],
      );
      assert.match(model.requests[2]?.text ?? '', /scenario__search_customer/, 'the alternative is named');
      assert.deepEqual(
        result.toolChain.map((entry) => entry.retryAttempt),
        [0, 1, 2, 0],
      );
    },
  );
});

test('without backtracking a failure goes to the model as it is', async () => {
  const { result, model } = await replayGhost(
    'scenarios/no_backtracking',
    'openai',
    [{ calls: [{ name: 'scenario__find_customer', arguments: { id: 'x' } }] }, { text: 'no' }],
    { serverConfig: { mcpServers: { scenario: { url: inProcess.url } } }, enableBacktracking: false },
  );
  assert.equal(result.executionMetadata.backtrackCount, 0);
  assert.deepEqual(
    result.errors.map((error) => error.recoveryAction),
    [null],
  );
  assert.doesNotMatch(model.requests[1]?.text ?? '', /previous approach/);
});

test('what the model gets wrong is answered, not thrown: broken JSON, an unknown tool', async () => {
  await withAll(
    'broken_calls',
    () => [
      {
        calls: [
          { name: 'scenario__add', rawArguments: '{"a": 1,' },
          { name: 'scenario__ad', arguments: {} },
          { name: 'scenario__add', arguments: { a: 'one' } },
        ],
      },
      { calls: [{ name: 'scenario__add', arguments: { a: 1, b: 2 } }] },
      { text: '3' },
    ],
    () => ({ serverConfig: { mcpServers: { scenario: { url: inProcess.url } } } }),
    (result) => {
      assert.equal(result.success, true);
      assert.deepEqual(
        result.toolChain.map((entry) => entry.success),
        [false, false, false, true],
      );
      assert.match(result.toolChain[0]?.error ?? '', /no JSON object/);
      assert.equal(result.toolChain[1]?.toolName, 'scenario__ad');
      assert.match(result.toolChain[2]?.error ?? '', /-32602/);
    },
  );
});

longTest(
  'a tool that never answers, one that is too slow and a server that dies end in recovery',
  async () => {
    await withAll(
      'no_answer_too_slow_dead',
      () => [
        { calls: [{ name: 'scenario__never' }] },
        { calls: [{ name: 'scenario__slow_report', arguments: { ms: 20_000 } }] },
        { calls: [{ name: 'scenario__die' }] },
        { calls: [{ name: 'scenario__add', arguments: { a: 1, b: 2 } }] },
        { text: '3' },
      ],
      () => ({ serverConfig: { mcpServers: { scenario: scenarioServer() } }, timeout: 0.4 }),
      (result) => {
        assert.equal(result.success, true);
        assert.deepEqual(
          result.errors.map((error) => error.recoveryAction),
          ['decomposition', 'decomposition', 'context_clarification'],
        );
        assert.equal(result.toolChain[3]?.result, '3', 'the server was started again');
        assert.equal(result.toolChain[3]?.success, true);
      },
      WITH_PROCESSES,
    );
  },
);

longTest('a read-only call that gets no answer is made again by itself, others are not', async () => {
  let file = 0;
  await withAll(
    'read_only_again',
    () => [{ calls: [{ name: 'scenario__die_once' }] }, { text: 'ok' }],
    () => {
      file += 1;
      return { serverConfig: { mcpServers: { scenario: scenarioServer(join(folder, `count-${file}`)) } } };
    },
    (result) => {
      assert.deepEqual(
        result.toolChain.map((entry) => [entry.success, entry.retryAttempt]),
        [
          [false, 0],
          [true, 1],
        ],
      );
      assert.deepEqual(
        result.errors.map((error) => error.recoveryAction),
        ['automatic_retry'],
      );
      assert.equal(result.toolChain[1]?.result, 'alive again');
    },
    WITH_PROCESSES,
  );
  const { result } = await replayGhost(
    'scenarios/dead_server',
    'openai',
    [{ calls: [{ name: 'scenario__die' }] }, { text: 'ok' }],
    {
      serverConfig: { mcpServers: { scenario: scenarioServer() } },
    },
  );
  assert.equal(result.toolChain.length, 1);
});

test('a tool that says it is destructive runs alone on its server, the others side by side', async () => {
  const calls = ['work', 'work', 'wipe', 'work'].map((name) => ({ name: `scenario__${name}` }));
  const { result } = await replayGhost('scenarios/destructive', 'openai', [{ calls }, { text: 'ok' }], {
    serverConfig: { mcpServers: { scenario: scenarioServer() } },
  });
  const said = result.toolChain.map((entry) => entry.result);
  assert.equal(said[2], 'wiped while 0 others ran');
  assert.equal(said[3], 'worked beside 0 others');
  assert.ok(said.slice(0, 2).includes('worked beside 1 others'), String(said));
});

test('a tool that gives no answer again and again is paused, and tried once more after a while', async () => {
  const never = { calls: [{ name: 'scenario__never' }] };
  const { result, events } = await replayGhost(
    'scenarios/breaker',
    'anthropic',
    [never, never, never, { text: 'giving up' }],
    {
      serverConfig: { mcpServers: { scenario: { url: inProcess.url } } },
      timeout: 0.1,
      breaker: { failureThreshold: 2, coolDownMs: 60_000 },
    },
  );
  assert.match(result.toolChain[2]?.error ?? '', /calls are paused/);
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'breaker' ? [event.state] : [])),
    ['open'],
  );
});

test('a flood is cut to head and tail, and the model can read the rest by reference', async () => {
  await withAll(
    'flood',
    () => [
      { calls: [{ name: 'scenario__flood', arguments: { chars: 2_000_000 } }] },
      {
        calls: [
          { name: 'read_tool_result', arguments: { reference: 'result_1', offset: 1_999_900, length: 500 } },
        ],
      },
      { text: 'it ends with END' },
    ],
    (provider) => ({
      serverConfig: { mcpServers: { scenario: scenarioFor(provider) } },
      maxResultChars: 2_000,
    }),
    (result, { model }) => {
      const [flood] = model.requests[1]?.lastResults ?? [];
      assert.ok((flood?.text.length ?? 0) < 2_400);
      assert.match(
        flood?.text ?? '',
        /^BEGINx+\s+\[1998008 of 2000008 characters left out; .*result_1.*\]\s+x+END$/,
      );
      assert.ok(model.requests[1]?.toolNames.includes('read_tool_result'));
      assert.ok(!model.requests[0]?.toolNames.includes('read_tool_result'));
      assert.match(model.requests[2]?.lastResults[0]?.text ?? '', /^x+END$/);
      assert.equal(String(result.toolChain[0]?.result).length, 2_000_008, 'the caller gets all of it');
    },
  );
});

test('a tool that appears during the run can be called', async () => {
  await withAll(
    'tool_appears',
    () => (seen) => {
      if (seen.toolNames.includes('scenario__secret')) {
        return seen.text.includes('42') ? { text: '42' } : { calls: [{ name: 'scenario__secret' }] };
      }
      return seen.text.includes('unlocked')
        ? { calls: [{ name: 'scenario__add', arguments: { a: 1, b: 1 } }] }
        : { calls: [{ name: 'scenario__unlock' }] };
    },
    () => ({ serverConfig: { mcpServers: { scenario: scenarioServer() } } }),
    (result) => {
      assert.equal(result.finalResult, '42');
    },
    WITH_PROCESSES,
  );
});

test('one server that cannot start does not stop the others; none at all ends the run without a model call', async () => {
  const broken = { command: join(folder, 'no-such-command') };
  await withAll(
    'one_server_gone',
    () => [{ calls: [{ name: 'scenario__add', arguments: { a: 1, b: 2 } }] }, { text: '3' }],
    () => ({ serverConfig: { mcpServers: { broken, scenario: { url: inProcess.url } } } }),
    (result) => {
      assert.equal(result.success, true);
      assert.equal(result.executionMetadata.serversConnected, 1);
      assert.equal(result.errors[0]?.toolName, 'broken');
      assert.equal(result.errors[0]?.iteration, 0);
    },
  );
  const { result, model } = await replayGhost('scenarios/no_servers', 'openai', [], {
    serverConfig: { mcpServers: { broken } },
  });
  assert.equal(result.success, false);
  assert.equal(result.executionMetadata.stopReason, 'no_servers');
  assert.equal(model.requests.length, 0);
});
