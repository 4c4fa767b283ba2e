import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chooseRecovery,
  findAlternatives,
  recoveryPrompt,
  toolWords,
} from '../src/orchestrator/backtrack.ts';
import { type BreakerChange, CircuitBreakers } from '../src/orchestrator/breaker.ts';
import { Budget } from '../src/orchestrator/budget.ts';
import { compacted, criticalLines, digest, planCompaction } from '../src/orchestrator/compaction.ts';
import { Conflicts, conflictSentence } from '../src/orchestrator/conflicts.ts';
import { Dependencies } from '../src/orchestrator/dependencies.ts';
import { looksFailed } from '../src/orchestrator/looks-failed.ts';
import { LoopDetector } from '../src/orchestrator/loop-detector.ts';
import { ModelCalls } from '../src/orchestrator/model-calls.ts';
import { selectTools } from '../src/orchestrator/offered-tools.ts';
import {
  type Completion,
  listToolCalls,
  type ModelMessage,
  userText,
} from '../src/orchestrator/providers/index.ts';
import { ResultCap } from '../src/orchestrator/result-cap.ts';
import { toolPerformance } from '../src/orchestrator/synthesis.ts';
import { ToolCache } from '../src/orchestrator/tool-cache.ts';
import { showResult, valueOfResult } from '../src/orchestrator/tool-text.ts';
import { pairCallsWithResults } from '../src/wire/contract/index.ts';
import { random } from './support/random.ts';

/** Whether a text survives UTF-8, which half a character does not. */
function isWhole(text: string): boolean {
  return Buffer.from(text, 'utf8').toString('utf8') === text;
}

test('a breaker opens at the same error again and again, later at errors that differ, and not at wrong ids', () => {
  const breakers = new CircuitBreakers({ failureThreshold: 3, toolErrorThreshold: 5 });
  for (const error of ['locked', 'locked', 'locked']) breakers.failed('s', 'same', error);
  assert.equal(breakers.tryEnter('s', 'same'), false);
  assert.equal(breakers.keepsFailing('s', 'same'), true);
  for (const error of ['no A', 'no B', 'no C']) breakers.failed('s', 'ids', error);
  assert.equal(breakers.tryEnter('s', 'ids'), true, 'three wrong ids lock no tool');
  for (const error of ['no D', 'no E']) breakers.failed('s', 'ids', error);
  assert.equal(breakers.tryEnter('s', 'ids'), false);
  breakers.failed('s', 'mixed', 'locked');
  breakers.failed('s', 'mixed', 'locked');
  breakers.succeeded('s', 'mixed');
  breakers.failed('s', 'mixed', 'locked');
  assert.equal(breakers.tryEnter('s', 'mixed'), true, 'a good answer in between counts');
});

test('a breaker opens after failures in a row, lets one probe through, and closes on any answer', () => {
  let now = 0;
  const changes: BreakerChange[] = [];
  const breakers = new CircuitBreakers(
    { failureThreshold: 2, coolDownMs: 100 },
    (change) => changes.push(change),
    () => now,
  );
  const enter = () => breakers.tryEnter('s', 't');
  breakers.failed('s', 't');
  breakers.succeeded('s', 't');
  breakers.failed('s', 't');
  assert.equal(enter(), true, 'one failure after a success is no row');
  breakers.failed('s', 't');
  assert.equal(enter(), false);
  assert.equal(breakers.tryEnter('s', 'other'), true, 'other tools are not concerned');
  now = 100;
  assert.equal(enter(), true, 'the probe');
  assert.equal(enter(), false, 'one probe at a time');
  breakers.failed('s', 't');
  now = 150;
  assert.equal(enter(), false, 'a failed probe starts the cool-down anew');
  now = 200;
  assert.equal(enter(), true);
  breakers.abandoned('s', 't');
  assert.equal(enter(), true, 'an abandoned probe is handed on');
  breakers.succeeded('s', 't');
  assert.equal(breakers.state('s', 't'), 'closed');
  assert.deepEqual(
    changes.map((change) => change.state),
    ['open', 'half_open', 'open', 'half_open', 'open', 'half_open', 'closed'],
  );
});

test('a loop needs the same result; polls that change go on, read-only polls for a little longer', () => {
  const loops = new LoopDetector();
  let turn = 0;
  const verdicts = (times: number, result: (at: number) => string, readOnly: boolean, tool: string) =>
    Array.from({ length: times }, (_, at) => {
      turn += 1;
      return loops.record(turn, tool, { argumentsText: '{}', resultText: result(at), readOnly });
    });
  assert.deepEqual(
    verdicts(5, () => 'same', false, 'write'),
    ['fine', 'fine', 'warn', 'fine', 'stop'],
  );
  assert.ok(verdicts(40, String, false, 'page').every((verdict) => verdict === 'fine'));
  assert.equal(verdicts(7, () => 'pending', true, 'poll').includes('stop'), false);
  assert.deepEqual(
    verdicts(1, () => 'pending', true, 'poll'),
    ['stop'],
  );
});

test('equal calls of one turn are no loop, those of five turns are', () => {
  const loops = new LoopDetector();
  const call = { argumentsText: '{}', resultText: 'same', readOnly: false };
  const turns = [1, 2, 3, 4, 5].map((turn) =>
    Array.from({ length: 5 }, () => loops.record(turn, 'add', call)),
  );
  assert.deepEqual(turns[0], ['fine', 'fine', 'fine', 'fine', 'fine']);
  assert.equal(turns.slice(0, 4).flat().includes('stop'), false);
  assert.equal(turns[4]?.[0], 'stop');
});

test('two calls taking turns are a loop too, and what left the window is forgotten', () => {
  const call = { argumentsText: '{}', resultText: 'x', readOnly: false };
  const turns = new LoopDetector();
  const seen = Array.from({ length: 9 }, (_, at) => turns.record(at, at % 2 === 0 ? 'a' : 'b', call));
  assert.equal(seen.at(-1), 'stop');
  const windowed = new LoopDetector({ window: 20 });
  for (let at = 0; at < 400; at += 1) {
    const tool = at % 10 === 0 ? 'now and then' : `other ${at}`;
    assert.notEqual(windowed.record(at, tool, call), 'stop');
  }
});

test('a conversation is cut so that no call ever loses its result, whatever its shape', () => {
  const next = random(11);
  for (let round = 0; round < 400; round += 1) {
    const head: ModelMessage[] = [{ role: 'system', text: 's' }, userText('task')];
    const body: ModelMessage[] = [];
    for (let turn = 0; turn < 1 + next(12); turn += 1) {
      const ids = Array.from({ length: next(4) }, (_, at) => `${turn}_${at}`);
      body.push({
        role: 'assistant',
        parts: [
          { type: 'text', text: 'y'.repeat(next(50)) },
          ...ids.map((id) => ({ type: 'tool_call', id, name: 't', arguments: {} }) as const),
        ],
      });
      if (ids.length > 0) {
        body.push({
          role: 'tool',
          parts: ids.map((id) => ({
            type: 'tool_result',
            id,
            name: 't',
            content: [{ type: 'text', text: 'x'.repeat(next(2_000)) }],
            isError: false,
          })),
        });
      }
      if (next(3) === 0) body.push(userText('notice'));
    }
    const messages = [...head, ...body];
    const plan = planCompaction(messages, 2, 1 + next(5), 200 + next(2_000));
    if (plan === undefined) continue;
    assert.deepEqual([...plan.head, ...plan.old, ...plan.recent], messages, 'nothing is lost or moved');
    assert.equal(plan.recent[0]?.role, 'assistant');
    assert.ok(plan.old.length > 0);
    const after = compacted(plan, 'summary');
    assert.deepEqual(pairCallsWithResults(after), after, 'every call has its result');
    assert.deepEqual(after.slice(0, 2), head);
    assert.deepEqual(after.slice(3), plan.recent, 'what stays is the same, signatures and all');
  }
});

test('critical lines survive any number of summaries, each once', () => {
  const said = (text: string): ModelMessage => ({ role: 'assistant', parts: [{ type: 'text', text }] });
  const old = [
    said('so\n  [CRITICAL] key is 1\nmore'),
    said('[critical] path is /a'),
    said('[critical] path is /a'),
  ];
  const once = compacted({ head: [], old, recent: [] }, 'first summary');
  const twice = compacted({ head: [], old: once, recent: [] }, 'second summary');
  assert.deepEqual(criticalLines(twice), ['[CRITICAL] key is 1', '[critical] path is /a']);
  assert.ok(digest(old, 40).length < 60);
});

test('a cut result keeps its ends, can be read in full by reference, and never splits a character', () => {
  const next = random(5);
  for (let round = 0; round < 200; round += 1) {
    const text = Array.from({ length: 300 + next(3_000) }, () => ['a', '😀', 'é', '\n'][next(4)]).join('');
    const cap = new ResultCap(200 + next(400));
    const { text: shown, reference } = cap.apply(text);
    assert.ok(isWhole(shown));
    if (reference === undefined) {
      assert.equal(shown, text);
      continue;
    }
    assert.ok(text.startsWith(shown.slice(0, 100)) && text.endsWith(shown.slice(-40)));
    let whole = '';
    for (let guard = 0; whole.length < text.length && guard < 1_000; guard += 1) {
      const part = cap.read(reference, whole.length, 1 + next(500)) ?? assert.fail('the reference is gone');
      assert.ok(isWhole(part));
      whole += part.replace(/\n\n\[continues at offset \d+ of \d+\]$/, '');
    }
    assert.equal(whole, text);
  }
});

test('stored results are bounded: the oldest goes, one that is larger than the store is not kept', () => {
  const cap = new ResultCap(200, 1_000);
  const first = cap.apply('a'.repeat(600)).reference ?? assert.fail();
  const second = cap.apply('b'.repeat(600)).reference ?? assert.fail();
  assert.equal(cap.read(first, 0), undefined);
  assert.match(cap.read(second, 0) ?? '', /^b/);
  assert.equal(cap.apply('c'.repeat(2_000)).reference, undefined);
  assert.equal(cap.read('result_99', 0), undefined);
});

test('a cache keeps to its time, its size and its server', () => {
  let now = 0;
  const cache = new ToolCache<number>({ ttlMs: 10, maxEntries: 2 }, () => now);
  cache.set('a', 't', '{}', 1);
  cache.set('b', 't', '{}', 2);
  cache.invalidate('a');
  assert.equal(cache.get('a', 't', '{}'), undefined);
  assert.equal(cache.get('b', 't', '{}'), 2);
  now = 11;
  assert.equal(cache.get('b', 't', '{}'), undefined);
  for (let at = 0; at < 5; at += 1) cache.set('c', 't', String(at), at);
  assert.deepEqual(
    [2, 3, 4].map((at) => cache.get('c', 't', String(at))),
    [undefined, 3, 4],
  );
});

test('a budget adds up what was reported and never guesses', () => {
  const budget = new Budget({ maxTokens: 100, maxCostUsd: 1 }, () => 0.25);
  budget.add('openai', 'm', { usage: { inputTokens: 40, outputTokens: 10, cacheReadTokens: 5 } });
  assert.equal(budget.exceeded, undefined);
  assert.equal(budget.costUsd, 0.25);
  budget.add('openai', 'm', {});
  assert.equal(budget.totals.callsWithoutUsage, 1);
  assert.equal(budget.totals.totalTokens, 50);
  assert.equal(budget.costUsd, undefined, 'unknown is not nothing');
  assert.match(budget.exceeded ?? '', /cost is unknown/);
  assert.equal(new Budget().exceeded, undefined);
});

test('a budget takes the cost a provider reports before the price of the list, and prices the tier that served', () => {
  const asked: unknown[] = [];
  const budget = new Budget({ maxCostUsd: 1 }, (_provider, _model, _usage, tier) => {
    asked.push(tier);
    return 0.25;
  });
  const usage = { inputTokens: 40, outputTokens: 10 };
  budget.add('openai', 'm', { usage, costUsd: 0.5, serviceTier: 'default' });
  assert.equal(budget.costUsd, 0.5);
  assert.deepEqual(asked, []);
  budget.add('openai', 'm', { usage, serviceTier: 'flex' });
  assert.deepEqual(asked, ['flex']);
  assert.equal(budget.costUsd, 0.75);
  budget.add('openai', 'm', { costUsd: 0.5 });
  assert.equal(budget.costUsd, 1.25, 'a cost without token counts is a cost');
  assert.match(budget.exceeded ?? '', /is spent/);
});

test('the strategy follows the kind of failure, its repetition, and whether another tool is there', () => {
  const other = [{ toolName: 's.b', modelName: 's__b' }];
  const choose = (
    kind: Parameters<typeof chooseRecovery>[0]['kind'],
    failuresOfTool: number,
    turns = 1,
    alternatives = other,
  ) => chooseRecovery({ toolName: 's.a', kind, message: 'm', failuresOfTool }, turns, alternatives).strategy;
  assert.equal(choose('tool_error', 1), 'retry_with_modified_arguments');
  assert.equal(choose('tool_error', 2), 'alternative_tool');
  assert.equal(choose('tool_error', 2, 2, []), 'decomposition');
  assert.equal(choose('timeout', 1), 'decomposition');
  assert.equal(choose('timeout', 2), 'alternative_tool');
  assert.equal(choose('transport_error', 1), 'alternative_tool');
  assert.equal(choose('transport_error', 1, 1, []), 'context_clarification');
  assert.equal(choose('invalid_arguments', 1), 'retry_with_modified_arguments');
  assert.equal(choose('tool_error', 1, 3), 'context_clarification');
  const prompt = recoveryPrompt([
    chooseRecovery(
      { toolName: 's.a', kind: 'unknown_tool', message: 'no such tool', failuresOfTool: 1 },
      1,
      other,
    ),
  ]);
  assert.match(prompt, /Tool s\.a failed: no such tool/);
  assert.match(prompt, /s__b/);
});

test('alternatives are the tools that share the most words', () => {
  const tool = (name: string, description: string) => ({ name, words: toolWords(name, description) });
  const found = findAlternatives(toolWords('readTextFile', 'Reads a file from disk'), [
    tool('send_mail', 'Sends a message'),
    tool('read_media_file', 'Reads a media file from disk'),
    tool('list_directory', 'Lists files on disk'),
  ]);
  assert.deepEqual(
    found.map((one) => one.name),
    ['read_media_file', 'list_directory'],
  );
});

test('more tools than a provider takes are cut to those that fit the task, in their order', () => {
  const tools = Array.from({ length: 300 }, (_, at) => ({
    server: 's',
    tool: {
      name: at === 250 ? 'convert_currency' : `tool_${at}`,
      description: at === 250 ? 'Converts an amount of money' : 'Does something',
      inputSchema: { type: 'object' },
    },
  }));
  const { offered, leftOut } = selectTools(tools, 'openai', 'Convert this amount to another currency');
  assert.equal(offered.length, 127);
  assert.equal(offered.at(-1)?.tool.name, 'convert_currency');
  assert.equal(leftOut.length, 173);
  assert.equal(selectTools(tools, 'anthropic', 'x').offered.length, 300);
});

/** A good entry of a chain. */
const done = (result: unknown, args: Record<string, unknown> = {}, toolName = 's.t', success = true) => ({
  toolName,
  success,
  result,
  arguments: args,
});

function dependenciesOn(...results: ReturnType<typeof done>[]): Dependencies {
  const known = new Dependencies('You help.', 'Where is the order of customer C17, and 20?');
  for (const result of results) known.add(result);
  return known;
}

test('a call depends on the results that brought up its values, not on failed ones or echoes of the prompt', () => {
  const known = dependenciesOn(
    done('customer C17: order abc-123', { id: 'C17' }),
    done('no such order abc-123', {}, 's.t', false),
    done('path /tmp/x'),
    done('abc-123 was shipped', { order: 'abc-123' }),
  );
  assert.deepEqual(known.of({ deep: { list: ['abc-123'] }, at: '/tmp/x' }), [0, 2]);
  assert.deepEqual(known.of({ id: 'C17' }), [], 'the prompt has it');
  assert.deepEqual(known.of({ id: 'abc-12' }), [], 'a part of a word is another value');
  assert.deepEqual(known.of({ n: 5, short: 'a' }), []);
});

test('a value that only the model brought up leads to the first call that was made with it', () => {
  const known = dependenciesOn(
    done('made note-9', { name: 'note-9' }),
    done('read note-9', { name: 'note-9' }),
  );
  assert.deepEqual(known.of({ name: 'note-9' }), [0]);
});

test('short values are found by their key, in structures and in text', () => {
  const known = dependenciesOn(
    done({ customer: { id: 7, tier: 'A' }, total: 3 }),
    done('order id: 12, state: ok'),
    done([{ id: 4 }, { id: 5 }]),
    done('{"row": {"x": 1}, "n": 20}'),
  );
  assert.deepEqual(known.of({ customerId: 7 }), [0]);
  assert.deepEqual(known.of({ tier: 'A' }), [0]);
  assert.deepEqual(known.of({ id: 7 }), [0]);
  assert.deepEqual(known.of({ limit: 7 }), [], 'another key');
  assert.deepEqual(known.of({ order_id: 12 }), [1]);
  assert.deepEqual(known.of({ ids: [5] }), [2]);
  assert.deepEqual(known.of({ x: 1 }), [3]);
  assert.deepEqual(known.of({ n: 20 }), [], 'the prompt has it');
});

test('a value inside a longer argument is found, for instance a table in SQL', () => {
  const known = dependenciesOn(done({ tables: ['customers', 'invoices'] }));
  assert.deepEqual(known.of({ sql: 'SELECT count(*) FROM invoices WHERE paid' }), [0]);
  const ids = dependenciesOn(done([{ customer_id: 'K2' }]));
  assert.deepEqual(ids.of({ sql: "SELECT name FROM customers WHERE id = 'K2'" }), [0]);
});

test('a file of a list is found in the path that is read next, whatever marks the lines of the list', () => {
  for (const listed of [
    '[FILE] report-2024.csv\n[DIR] drafts',
    { content: '[FILE] report-2024.csv\n[DIR] drafts' },
    [{ type: 'text', text: '- report-2024.csv\n- drafts' }],
    'report-2024.csv\n1. drafts',
  ]) {
    const known = dependenciesOn(done('nothing here'), done(listed, { path: '/data' }));
    assert.deepEqual(known.of({ path: '/data/report-2024.csv' }), [1], JSON.stringify(listed));
    assert.deepEqual(known.of({ path: '/data/drafts/x' }), [1]);
    assert.deepEqual(known.of({ path: '/data/other.csv' }), []);
  }
  const prose = dependenciesOn(done('ready\nto\nread'));
  assert.deepEqual(prose.of({ text: 'is it ready to be read' }), [], 'words are no names');
});

test('calls of a run have ids of their own, and the one that the output limit cut is marked', () => {
  const calls = new ModelCalls();
  const call = (id: string) => ({ type: 'tool_call', id, name: 't', arguments: { a: 1 } }) as const;
  const settle = (finishReason: 'length' | 'tool_calls', ...parts: Completion['message']['parts']) =>
    listToolCalls(calls.settle({ message: { role: 'assistant', parts }, finishReason }));
  assert.deepEqual(settle('tool_calls', call('c'), call('c')), [call('c'), call('c_2')]);
  assert.deepEqual(settle('length', call('d'), call('c')), [call('d'), { ...call('c_3'), isCut: true }]);
  assert.deepEqual(settle('length', call('e'), { type: 'text', text: 'and so' }), [call('e')]);
});

test('a result looks failed by how it begins or by its error member, and not by what it is about', () => {
  const looks = (value: unknown) =>
    looksFailed({
      success: true,
      value,
      text: typeof value === 'string' ? value : JSON.stringify(value),
      images: [],
      links: [],
      seconds: 0,
      cached: false,
    });
  for (const failed of [
    'Error: no such table: users',
    'Database error: no such column: x',
    'Error executing query: syntax error',
    'sqlite3.OperationalError: database is locked',
    'Traceback (most recent call last):\n  File "x"',
    'Failed to open the page: net::ERR_NAME_NOT_RESOLVED',
    'MCP error -32602: id is required',
    '❌ Error: not found',
    'HTTP 403 Forbidden: token lacks scope repo',
    'Request failed with status code 500',
    'Could not find element "#go"',
    'Couldn\u2019t open the file',
    { success: false, message: 'no permission' },
    { error: 'no such row' },
    { isError: true, message: 'x' },
    { status: 'error', message: 'no such sheet' },
    { type: 'about:blank', title: 'Not Found', status: 404, detail: 'No such project' },
    { data: null, errors: [{ message: 'no such field' }] },
    { result: { type: 'error', error: 'rate limit reached' } },
    "EACCES: permission denied, open '/etc/shadow'",
  ])
    assert.ok(looks(failed), JSON.stringify(failed));
  for (const fine of [
    'Error handling in Rust',
    'Error rate: 5%',
    'Last error: none',
    'HTTP 404 pages of the best sites, with pictures',
    'Request failures by day: 3, 4, 1',
    { success: true, rows: [] },
    'Failed logins: 3',
    'The server had no errors',
    'Exception handling: a guide',
    '[{"error": "old"}]',
    { error: null, rows: [] },
    { errors: 0 },
    { status: 'error', message: 'disk full', host: 'a row of a monitor' },
    { title: 'Not Found', status: 404, hits: 12 },
    { data: { a: 1 }, errors: [{ message: 'a part' }] },
    { errors: [{ line: 1, message: 'found by a linter' }] },
    { result: { id: 1, error: null } },
    'EXAMPLE: how to call it',
    `Error: ${'a log line\n'.repeat(1_000)}`.padStart(6_000),
  ])
    assert.ok(!looks(fine), JSON.stringify(fine).slice(0, 80));
});

function conflictsOf(...entries: ReturnType<typeof done>[]): string[] {
  const conflicts = new Conflicts();
  for (const entry of entries) conflicts.add(entry);
  return conflicts.found.map((conflict) => conflictSentence(conflict, 'Ada lives in Rome.'));
}

test('a URI names a thing within one server only', () => {
  const named = (name: string, tool: string) => done([{ uri: 'doc://42', name }], {}, tool);
  const conflicts = new Conflicts();
  assert.deepEqual(conflicts.add(named('report', 'good.find'), 'good'), []);
  assert.deepEqual(conflicts.add(named('weather', 'evil.find'), 'evil'), []);
  assert.equal(conflicts.add(named('sales', 'good.list'), 'good').length, 1);
});

test('results of two tools that disagree by key are found, and which one the answer uses is recorded', () => {
  assert.deepEqual(
    conflictsOf(
      done({ id: 'C17', city: 'Paris', tier: 'gold' }, { id: 'C17' }, 'crm.get_customer'),
      done(
        [
          { id: 'C18', city: 'Oslo' },
          { customer_id: 'C17', city: 'Rome', tier: 'Gold ' },
        ],
        {},
        'erp.list_customers',
      ),
    ),
    [
      'Steps 1 and 2 disagree about city of C17: "Paris" according to crm.get_customer, "Rome" according to erp.list_customers; the answer says "Rome".',
    ],
  );
  const weather = conflictsOf(
    done({ temperature: 21 }, { city: 'Paris' }, 'a.weather'),
    done('temperature: 14', { city: 'Paris' }, 'b.weather'),
  );
  assert.equal(weather.length, 1, 'a result without a name is about what was asked');
  assert.equal(
    conflictsOf(
      done({ id: 7, total: 10 }, {}, 'a.get_order'),
      done('{"order_id": 7, "total": 12}', {}, 'b.find_order'),
    ).length,
    1,
  );
  assert.equal(
    conflictsOf(done({ id: 7, city: 'Berlin' }, {}, 'a.get'), done({ id: 7, city: 'Paris' }, {}, 'b.lookup'))
      .length,
    1,
    'tools that name no kind, and things of the same fields',
  );
});

test('what differs for a good reason is no conflict', () => {
  const none = [
    [done({ id: 'C17', city: 'Paris' }, {}, 'a.get'), done({ id: 'C17', city: 'Rome' }, {}, 'a.get')],
    [done({ id: 1, name: 'Order' }, {}, 'a.get_order'), done({ id: 1, name: 'Ada' }, {}, 'b.get_customer')],
    [done({ id: 1, name: 'Order', x: 1 }, {}, 'a.get'), done({ id: 1, name: 'Ada' }, {}, 'b.get')],
    [done({ id: 'C17', updated_at: '1' }, {}, 'a.get'), done({ id: 'C17', updated_at: '2' }, {}, 'b.get')],
    [done({ id: 'C17', n: 1 }, {}, 'a.get'), done({ id: 'C17', n: '1.0' }, {}, 'b.get')],
    [done({ result: 3 }, { a: 1, b: 2 }, 'a.add'), done({ result: -1 }, { a: 1, b: 2 }, 'a.sub')],
    [done({ id: 'C17', city: 'Paris' }, {}, 'a.get'), done({ id: 'C17', city: 'Rome' }, {}, 'b.get', false)],
    [
      done({ id: 'C17', city: 'Paris' }, {}, 'a.get'),
      done('ok', { id: 'C17', city: 'Rome' }, 'a.update_customer'),
      done({ id: 'C17', city: 'Rome' }, {}, 'b.get'),
    ],
  ];
  for (const entries of none) assert.deepEqual(conflictsOf(...entries), []);
});

test('hostile results cost a bounded time to compare', () => {
  const many = Array.from({ length: 20_000 }, (_, at) => ({ id: `X${at % 7}`, city: at }));
  const conflicts = new Conflicts();
  const known = dependenciesOn();
  for (let at = 0; at < 30; at += 1) {
    const entry = done(many, { q: 'a: '.repeat(5_000) }, `s.t${at}`);
    conflicts.add(entry);
    known.add({ ...entry, result: 'key: '.repeat(50_000) });
    known.of({ a: 'key '.repeat(400) });
  }
  assert.ok(conflicts.found.length <= 20);
});

test('performance is added up per tool, slowest first', () => {
  const entry = (
    toolName: string,
    success: boolean,
    executionTime: number,
    retryAttempt: number,
    cached: boolean,
  ) => ({
    ...{ toolName, success, executionTime, retryAttempt, cached, iteration: 1, arguments: {} },
    ...{ result: null, error: null, reasoning: '', dependsOn: [] },
  });
  const chain = [entry('a', true, 1, 0, false), entry('a', false, 3, 1, false), entry('b', true, 9, 0, true)];
  assert.deepEqual(toolPerformance(chain), [
    { toolName: 'b', calls: 1, failures: 0, retries: 0, cacheHits: 1, totalTime: 9, maxTime: 9, meanTime: 9 },
    { toolName: 'a', calls: 2, failures: 1, retries: 1, cacheHits: 0, totalTime: 4, maxTime: 3, meanTime: 2 },
  ]);
});

test('results of every block type are put into words once', () => {
  const shown = showResult({
    content: [
      { type: 'text', text: 'hello' },
      { type: 'image', mimeType: 'image/png', data: 'aGk=' },
      { type: 'audio', mimeType: 'audio/wav', data: 'aGk=' },
      { type: 'resource_link', uri: 'file:///a', name: 'a' },
      { type: 'resource', uri: 'file:///b', text: 'body' },
      { type: 'resource', uri: 'file:///c', mimeType: 'x/y', blob: Buffer.from('é\n').toString('base64') },
      { type: 'resource', uri: 'file:///d', mimeType: 'x/z', blob: 'UEsDBAA=' },
      { type: 'unknown', block: { type: 'new' } },
    ],
    structuredContent: { said: 'hello' },
  });
  assert.equal(
    shown.text,
    'hello\n[audio/wav audio, 2 bytes]\n[resource file:///a, name: a]\nbody\né\n\n[resource file:///d, x/z, 5 bytes]\n{"type":"new"}',
  );
  assert.equal(shown.images.length, 1);
  assert.equal(showResult({ content: [], structuredContent: { a: 1 } }).text, '{"a":1}');
  assert.deepEqual(valueOfResult({ content: [{ type: 'text', text: '{"a":1}' }] }), { a: 1 });
  assert.equal(valueOfResult({ content: [{ type: 'text', text: '{no json' }] }), '{no json');
  assert.equal(valueOfResult({ content: [{ type: 'text', text: 'done' }], structuredContent: [] }), 'done');
  assert.deepEqual(valueOfResult({ content: [], structuredContent: [] }), []);
});
