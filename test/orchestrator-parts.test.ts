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
import { LoopDetector } from '../src/orchestrator/loop-detector.ts';
import { selectTools } from '../src/orchestrator/offered-tools.ts';
import { toolPerformance } from '../src/orchestrator/performance.ts';
import { type ModelMessage, pairCallsWithResults, userText } from '../src/orchestrator/providers/index.ts';
import { quotedResults } from '../src/orchestrator/quoted-results.ts';
import { ResultCap } from '../src/orchestrator/result-cap.ts';
import { ToolCache } from '../src/orchestrator/tool-cache.ts';
import { showResult, valueOfResult } from '../src/orchestrator/tool-text.ts';

/** A small repeatable source of numbers. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** Whether a text survives UTF-8, which half a character does not. */
function isWhole(text: string): boolean {
  return Buffer.from(text, 'utf8').toString('utf8') === text;
}

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

test('a loop needs the same result; polls that change and read-only polls go on for longer', () => {
  const loops = new LoopDetector();
  const verdicts = (times: number, result: (at: number) => string, readOnly: boolean, tool: string) =>
    Array.from({ length: times }, (_, at) => loops.record(tool, '{}', result(at), readOnly));
  assert.deepEqual(
    verdicts(5, () => 'same', false, 'write'),
    ['fine', 'fine', 'warn', 'fine', 'stop'],
  );
  assert.ok(verdicts(40, String, false, 'page').every((verdict) => verdict === 'fine'));
  assert.equal(verdicts(19, () => 'pending', true, 'poll').includes('stop'), false);
  assert.deepEqual(
    verdicts(1, () => 'pending', true, 'poll'),
    ['stop'],
  );
});

test('two calls taking turns are a loop too, and what left the window is forgotten', () => {
  const turns = new LoopDetector();
  const seen = Array.from({ length: 9 }, (_, at) => turns.record(at % 2 === 0 ? 'a' : 'b', '{}', 'x', false));
  assert.equal(seen.at(-1), 'stop');
  const windowed = new LoopDetector({ window: 20 });
  for (let at = 0; at < 400; at += 1) {
    const tool = at % 10 === 0 ? 'now and then' : `other ${at}`;
    assert.notEqual(windowed.record(tool, '{}', 'x', false), 'stop');
  }
});

test('a conversation is cut so that no call ever loses its result, whatever its shape', () => {
  const next = numbers(11);
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
  const next = numbers(5);
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

test('quoted values are found where they came from', () => {
  const results = ['id: abc-123', 'nothing', 'path /tmp/x'];
  assert.deepEqual(quotedResults({ deep: { list: ['abc-123'] }, at: '/tmp/x' }, results), [0, 2]);
  assert.deepEqual(quotedResults({ n: 5, short: 'a' }, results), []);
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
      { type: 'unknown', block: { type: 'new' } },
    ],
    structuredContent: { said: 'hello' },
  });
  assert.equal(shown.text, 'hello\n[audio/wav audio, 3 bytes]\n[resource file:///a]\nbody\n{"type":"new"}');
  assert.equal(shown.images.length, 1);
  assert.equal(showResult({ content: [], structuredContent: { a: 1 } }).text, '{"a":1}');
  assert.deepEqual(valueOfResult({ content: [{ type: 'text', text: '{"a":1}' }] }), { a: 1 });
  assert.equal(valueOfResult({ content: [{ type: 'text', text: '{no json' }] }), '{no json');
});
