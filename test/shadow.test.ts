import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { after, afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, diag, trace } from '@opentelemetry/api';
import OpenAI from 'openai';
import { drainShadows, type ShadowComparison, shadow } from '../src/execution/index.ts';
import { instrument, ObservatorySpanProcessor, startObservatory } from '../src/index.ts';
import { setGovernance } from '../src/processor/index.ts';
import { tryGhost } from './support/ghost.ts';
import { MetricReader } from './support/metric-reader.ts';
import { ScriptedProvider } from './support/scripted-provider.ts';
import { sized } from './support/size.ts';
import { Telemetry } from './support/telemetry.ts';
import { waitUntil } from './support/wait-until.ts';

let telemetry: Telemetry;
beforeEach(() => {
  telemetry = new Telemetry(new ObservatorySpanProcessor());
});
// startObservatory() sets a logger where there is none.
after(() => diag.disable());
afterEach(() => telemetry.shutdown());

const never = () => new Promise<never>(() => {});
const spanNamed = (name: string) => telemetry.spans.find((span) => span.name === name);

test('the caller gets the answer of the primary; the run beside it is a linked trace of its own with the scores', async () => {
  const ask = shadow({
    name: 'ask',
    primary: async (item: string) => `${item}: 10 of 20 are ready`,
    candidate: async (item: string) => `${item}: 15 of 20 are done`,
    govern: { promptTemplateId: 'ask-v4' },
  });
  const around = trace.getTracer('t').startSpan('request');
  const answer = await context.with(trace.setSpan(context.active(), around), () => ask('boxes'));
  around.end();
  assert.equal(answer, 'boxes: 10 of 20 are ready');
  await ask.shutdown();
  const run = spanNamed('shadow ask');
  const { traceId, spanId } = around.spanContext();
  assert.notEqual(run?.spanContext().traceId, traceId);
  assert.equal(run?.parentSpanContext, undefined);
  assert.deepEqual([run?.links[0]?.context.traceId, run?.links[0]?.context.spanId], [traceId, spanId]);
  // Words: boxes 10 of 20 are, and ready against 15 done.
  assert.deepEqual(run?.attributes, {
    'observatory.is_shadow': true,
    'observatory.shadow_parent_trace_id': traceId,
    'observatory.shadow.name': 'ask',
    'observatory.prompt_template_id': 'ask-v4',
    'observatory.shadow_disagreement_score': 1 - 4 / 8,
    'observatory.shadow_numeric_variance': 0.25,
    'observatory.shadow.outcome': 'compared',
  });
  assert.deepEqual(
    run?.events.map((event) => event.attributes?.['gen_ai.evaluation.name']),
    ['shadow_disagreement', 'shadow_numeric_variance'],
  );
  assert.equal(spanNamed('shadow_primary ask'), undefined);
});

test('a call outside of any span gets one around the primary to be linked with', async () => {
  const ask = shadow({ name: 'ask', primary: () => trace.getActiveSpan(), candidate: () => 'x' });
  const inside = ask();
  await ask.shutdown();
  const primary = spanNamed('shadow_primary ask');
  assert.equal(inside?.spanContext().spanId, primary?.spanContext().spanId);
  assert.equal(spanNamed('shadow ask')?.links[0]?.context.spanId, primary?.spanContext().spanId);
});

test('a plain value, a promise, an error thrown and a rejection come through as they are', async () => {
  const failure = new TypeError('mine');
  const value = { a: 1 };
  const candidate = () => 'other';
  const plain = shadow({ primary: () => value, candidate });
  assert.equal(plain(), value);
  const promised = shadow({ primary: async () => value, candidate });
  assert.equal(await promised(), value);
  const throwing = shadow({
    primary: (): string => {
      throw failure;
    },
    candidate,
  });
  assert.throws(throwing, (error) => error === failure);
  const rejecting = shadow({ primary: () => Promise.reject(failure), candidate });
  await assert.rejects(rejecting(), (error) => error === failure);
  const bound = shadow({
    primary(this: { name: string }) {
      return this.name;
    },
    candidate,
  });
  assert.equal(Reflect.apply(bound, { name: 'self' }, []), 'self');
  for (const one of [plain, promised, throwing, rejecting, bound]) await one.shutdown();
  assert.equal(throwing.stats.outcomes.primary_failed, 1);
  assert.equal(rejecting.stats.outcomes.primary_failed, 1);
});

test('a rejection of the primary that nobody handles is still reported as one', async () => {
  const reported: unknown[] = [];
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => reported.push(reason));
  try {
    const failure = new Error('unhandled');
    const ask = shadow({
      primary: () => Promise.reject(failure),
      candidate: () => Promise.reject(new Error('c')),
    });
    void ask();
    await waitUntil(() => reported.length > 0);
    await ask.shutdown();
    assert.deepEqual(reported, [failure]);
  } finally {
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
});

test('a lazy thenable runs when its caller asks, once, and is observed then', async () => {
  let queries = 0;
  const query = () => ({
    // biome-ignore lint/suspicious/noThenProperty: a query builder is such a thing.
    then(onValue: (rows: string) => unknown) {
      queries += 1;
      return Promise.resolve('3 rows').then(onValue);
    },
  });
  const ask = shadow({ primary: query, candidate: () => '3 rows' });
  const outcome = ask();
  await sleep(1);
  assert.equal(queries, 0);
  assert.equal(await outcome, '3 rows');
  await ask.shutdown();
  assert.equal(queries, 1);
  assert.equal(ask.stats.outcomes.compared, 1);
});

const BAD_CANDIDATES: Readonly<Record<string, () => unknown>> = {
  'throws at once': () => {
    throw new Error('secret');
  },
  rejects: () => Promise.reject(new Error('secret')),
  'rejects with nothing': () => Promise.reject(),
  'throws from then': () => ({
    // biome-ignore lint/suspicious/noThenProperty: this is the fault.
    get then() {
      throw new Error('secret');
    },
  }),
};
for (const [what, candidate] of Object.entries(BAD_CANDIDATES)) {
  test(`a candidate that ${what} is recorded on its span, without its message, and nowhere else`, async () => {
    const ask = shadow({ name: 'ask', primary: async () => 'fine', candidate });
    assert.equal(await ask(), 'fine');
    await ask.shutdown();
    assert.equal(ask.stats.outcomes.candidate_failed, 1);
    const run = spanNamed('shadow ask');
    assert.equal(run?.status.code, 2);
    assert.equal(run?.attributes['error.type'], what === 'rejects with nothing' ? 'undefined' : 'Error');
    assert.ok(!JSON.stringify([run?.attributes, run?.events, run?.status]).includes('secret'));
  });
}

test('a candidate that hangs is given up in time, aborted, and may not pile up', async () => {
  const signals: AbortSignal[] = [];
  const ask = shadow({
    primary: async () => 'fine',
    candidate: (run) => {
      signals.push(run.signal);
      return never();
    },
    maxConcurrency: 1,
    timeoutMs: 1,
  });
  for (let calls = 1; ask.stats.skipped.stuck === 0; calls += 1) {
    assert.equal(await ask(), 'fine');
    await waitUntil(() => ask.stats.underWay === 0);
    assert.ok(calls <= 10);
  }
  const { outcomes, stuck, started } = ask.stats;
  assert.deepEqual([outcomes.timed_out, stuck, started], [4, 4, 4]);
  assert.ok(signals.every((signal) => signal.aborted));
});

test('runs beyond the concurrency are skipped and counted, and the place is free again afterwards', async () => {
  const open: (() => void)[] = [];
  const ask = shadow({
    primary: () => 'p',
    candidate: () => new Promise<string>((resolve) => open.push(() => resolve('c'))),
    maxConcurrency: 2,
  });
  for (let i = 0; i < 5; i += 1) ask();
  assert.deepEqual([ask.stats.underWay, ask.stats.skipped.concurrency], [2, 3]);
  await waitUntil(() => open.length === 2);
  for (const release of open.splice(0)) release();
  await waitUntil(() => ask.stats.underWay === 0);
  ask();
  assert.equal(ask.stats.started, 3);
  await waitUntil(() => open.length === 1);
  open[0]?.();
  await ask.shutdown();
  assert.equal(ask.stats.outcomes.compared, 3);
});

test('runs stop when the budget is spent, what is under way reckoned in', async () => {
  const ask = shadow({
    primary: () => 'p',
    candidate: async () => 'c',
    costOf: () => 0.4,
    assumedCostUsd: 0.4,
    budgetUsd: 1,
    maxConcurrency: 100,
  });
  for (let i = 0; i < 10; i += 1) ask();
  assert.deepEqual([ask.stats.started, ask.stats.skipped.budget], [2, 8]);
  await waitUntil(() => ask.stats.underWay === 0);
  ask();
  assert.deepEqual([ask.stats.started, ask.stats.spentUsd], [2, 0.8]);
  await ask.shutdown();
});

test('a share of the calls is chosen, by chance or by their arguments; a chooser that throws chooses none', async () => {
  const none = shadow({ primary: () => 1, candidate: () => 1, sample: 0 });
  none();
  const some = shadow({
    primary: (n: number) => n,
    candidate: (n: number) => n,
    sample: (n) => n % 2 === 0,
    maxConcurrency: 10,
  });
  for (let n = 0; n < 10; n += 1) assert.equal(some(n), n);
  const faulty = shadow({
    primary: () => 1,
    candidate: () => 1,
    sample: () => {
      throw new Error('no');
    },
  });
  assert.equal(faulty(), 1);
  const half = shadow({ primary: () => 1, candidate: () => 1, sample: 0.5, maxConcurrency: 0 });
  for (let i = 0; i < 1000; i += 1) half();
  for (const one of [none, some, faulty, half]) await one.shutdown();
  assert.deepEqual([none.stats.unsampled, none.stats.started], [1, 0]);
  assert.deepEqual([some.stats.unsampled, some.stats.started], [5, 5]);
  assert.deepEqual([faulty.stats.unsampled, faulty.stats.faults], [1, 1]);
  assert.ok(half.stats.unsampled > 350 && half.stats.unsampled < 650, `${half.stats.unsampled}`);
  assert.equal(half.stats.unsampled + half.stats.skipped.concurrency, half.stats.calls);
});

test('shutdown waits for runs, abandons what is not done by the deadline, and starts no more', async () => {
  let release: (() => void) | undefined;
  const candidate = () =>
    new Promise<string>((resolve) => {
      release = () => resolve('c');
    });
  const ask = shadow({ name: 'ask', primary: () => 'p', candidate });
  ask();
  await waitUntil(() => release !== undefined);
  const down = ask.shutdown(60_000);
  release?.();
  await down;
  assert.equal(ask.stats.outcomes.compared, 1);
  ask();
  assert.deepEqual([ask.stats.started, ask.stats.skipped.shut_down], [1, 1]);

  const hanging = shadow({ name: 'hanging', primary: () => 'p', candidate: never });
  hanging();
  await hanging.shutdown(1);
  assert.deepEqual([hanging.stats.outcomes.abandoned, hanging.stats.underWay], [1, 0]);
  assert.equal(spanNamed('shadow hanging')?.attributes['observatory.shadow.outcome'], 'abandoned');
});

test('the runs of the whole process are drained together', async () => {
  const open: (() => void)[] = [];
  const candidate = () => new Promise<string>((resolve) => open.push(() => resolve('c')));
  const shadows = [shadow({ primary: () => 'p', candidate }), shadow({ primary: () => 'p', candidate })];
  for (const ask of shadows) ask();
  await waitUntil(() => open.length === 2);
  const drained = drainShadows(60_000);
  for (const release of open) release();
  await drained;
  assert.deepEqual(
    shadows.map((ask) => ask.stats.outcomes.compared),
    [1, 1],
  );
  const hanging = shadow({ primary: () => 'p', candidate: never });
  hanging();
  await drainShadows(1);
  assert.equal(hanging.stats.outcomes.abandoned, 1);
  await drainShadows(60_000);
});

test('startObservatory waits for runs before its last flush', async () => {
  const observatory = await startObservatory({ postgres: false, otlp: false, flushOnExit: false });
  let release: (() => void) | undefined;
  const candidate = () =>
    new Promise<string>((resolve) => {
      release = () => resolve('c');
    });
  const ask = shadow({ primary: () => 'p', candidate });
  ask();
  await waitUntil(() => release !== undefined);
  const down = observatory.shutdown();
  release?.();
  await down;
  assert.equal(ask.stats.outcomes.compared, 1);
});

test('a call made inside a candidate has no shadow of its own', async () => {
  const inner = shadow({ primary: () => 'i', candidate: () => 'i' });
  const outer = shadow({ primary: () => inner(), candidate: () => inner() });
  assert.equal(outer(), 'i');
  await outer.shutdown();
  await inner.shutdown();
  assert.deepEqual([inner.stats.started, inner.stats.skipped.nested], [1, 1]);
});

test('what the callbacks throw is counted and changes nothing', async () => {
  const bad = () => {
    throw new Error('mine');
  };
  const ask = shadow({
    primary: () => 'p',
    candidate: () => 'c',
    textOf: bad,
    costOf: bad,
    onComparison: bad,
  });
  assert.equal(ask(), 'p');
  await ask.shutdown();
  assert.deepEqual([ask.stats.faults, ask.stats.outcomes.not_comparable], [4, 1]);
});

test('results of any kind are compared by their text', async () => {
  const pairs: readonly (readonly [unknown, unknown, number | undefined])[] = [
    [{ total: 10, risk: 'high' }, { risk: 'high', total: 10 }, 0],
    ['日本', '日本', 0],
    ['日本', '中国', undefined],
    [42, 42, 0],
    [{ content: [{ type: 'text', text: 'all good' }] }, 'all good', 0],
    [() => 1, 'x', undefined],
    [undefined, 'x', undefined],
  ];
  for (const [primary, candidate, expected] of pairs) {
    const seen: ShadowComparison[] = [];
    const ask = shadow({
      primary: () => primary,
      candidate: () => candidate,
      onComparison: (comparison) => seen.push(comparison),
    });
    ask();
    await ask.shutdown();
    assert.equal(seen[0]?.disagreement, expected, `${String(primary)} and ${String(candidate)}`);
  }
});

test('model calls of a candidate through an interceptor are marked as shadow, those of the primary are not', async () => {
  const interceptor = instrument({ serviceName: 's' });
  const askModel = (model: string) => (prompt: string) =>
    interceptor.interceptModelCall({ model, prompt, response: `${model} says 1` });
  const ask = shadow({ name: 'ask', primary: askModel('gpt-4o'), candidate: askModel('gpt-4o-mini') });
  const governed = setGovernance(context.active(), { riskTier: 'high' });
  assert.equal(await context.with(governed, () => ask('q')), 'gpt-4o says 1');
  await ask.shutdown();
  const [primary, candidate] = [spanNamed('chat gpt-4o'), spanNamed('chat gpt-4o-mini')];
  assert.equal(primary?.attributes['observatory.is_shadow'], false);
  assert.equal(candidate?.attributes['observatory.is_shadow'], true);
  assert.equal(candidate?.attributes['observatory.shadow_parent_trace_id'], primary?.spanContext().traceId);
  assert.equal(candidate?.attributes['observatory.risk_tier'], 'high');
  assert.equal(candidate?.parentSpanContext?.spanId, spanNamed('shadow ask')?.spanContext().spanId);
});

test('calls of the official OpenAI client keep their promise, and the cost of the candidate is known', async () => {
  await using model = await ScriptedProvider.start(() => ({
    text: 'The answer is 42.',
    usage: { input: 1000, output: 100 },
  }));
  const client = new OpenAI({ apiKey: 'test-key', baseURL: model.baseUrl('openai'), maxRetries: 0 });
  const chatWith = (name: string) => (content: string) =>
    client.chat.completions.create({ model: name, messages: [{ role: 'user', content }] });
  const seen: ShadowComparison[] = [];
  const ask = shadow({
    primary: chatWith('gpt-4o'),
    candidate: chatWith('gpt-4o-mini'),
    onComparison: (comparison) => seen.push(comparison),
  });
  const completion = await ask('What is it?');
  assert.equal(completion.choices[0]?.message.content, 'The answer is 42.');
  const { data, response } = await ask('What is it?').withResponse();
  assert.equal(data.choices[0]?.message.content, 'The answer is 42.');
  assert.equal(response.status, 200);
  const raw = await ask('What is it?').asResponse();
  assert.match(await raw.text(), /The answer is 42/);
  await ask.shutdown();
  assert.deepEqual([ask.stats.outcomes.compared, ask.stats.outcomes.not_comparable], [2, 1]);
  assert.equal(seen[0]?.disagreement, 0);
  assert.ok((seen[0]?.candidateCostUsd ?? 0) > 0);
  assert.ok(Math.abs(ask.stats.spentUsd - 3 * (seen[0]?.candidateCostUsd ?? 0)) < 1e-12);
});

test('a run of the orchestrator is compared with one of another model and template', async () => {
  const run = (text: string, promptTemplateId: string) => async () => {
    const script = [{ text, usage: { input: 1000, output: 100 } }];
    return (
      await tryGhost('openai', script, { serverConfig: { mcpServers: {} }, govern: { promptTemplateId } })
    ).result;
  };
  const seen: ShadowComparison[] = [];
  const ask = shadow({
    name: 'ghost',
    primary: run('It is 40.', 'ask-v3'),
    candidate: run('It is 50.', 'ask-v4'),
    onComparison: (comparison) => seen.push(comparison),
  });
  const { finalResult } = await ask();
  assert.equal(finalResult, 'It is 40.');
  await ask.shutdown(30_000);
  assert.equal(ask.stats.outcomes.compared, 1);
  assert.equal(seen[0]?.disagreement, 0.5);
  assert.equal(seen[0]?.numericVariance, 0.25);
  assert.ok((seen[0]?.candidateCostUsd ?? 0) > 0);
  const agents = telemetry.spans.filter((span) => span.name.startsWith('invoke_agent'));
  assert.deepEqual(
    agents
      .map(({ attributes }) => [
        attributes['observatory.prompt_template_id'],
        attributes['observatory.is_shadow'],
      ])
      .sort(),
    [
      ['ask-v3', undefined],
      ['ask-v4', true],
    ],
  );
});

const CALLS = sized(1_000, 10_000);
test(`${CALLS} concurrent shadowed calls keep their own context, in the primary and in the candidate`, async () => {
  const own = new AsyncLocalStorage<number>();
  const leaks: string[] = [];
  const seen = new Set<number>();
  const check = (what: string, n: number) => {
    const span = trace.getActiveSpan();
    if (own.getStore() !== n) leaks.push(`${what} ${n} has the store ${own.getStore()}`);
    if (span === undefined) leaks.push(`${what} ${n} has no span`);
    return span?.spanContext().traceId ?? '';
  };
  const parents = new Map<number, string>();
  const ask = shadow({
    primary: async (n: number) => {
      const before = check('primary', n);
      await sleep(n % 7);
      if (check('primary', n) !== before) leaks.push(`primary ${n} changed its trace`);
      parents.set(n, before);
      return `answer ${n}`;
    },
    candidate: async (n: number) => {
      const before = check('candidate', n);
      await sleep(n % 5);
      if (check('candidate', n) !== before) leaks.push(`candidate ${n} changed its trace`);
      if (before === parents.get(n)) leaks.push(`candidate ${n} is in the trace of its primary`);
      seen.add(n);
      return `answer ${n}`;
    },
    maxConcurrency: CALLS,
  });
  const answers = await Promise.all(
    Array.from({ length: CALLS }, (_, n) =>
      own.run(n, () =>
        trace.getTracer('t').startActiveSpan(`call ${n}`, (span) => ask(n).finally(() => span.end())),
      ),
    ),
  );
  await ask.shutdown(60_000);
  assert.deepEqual(leaks, []);
  assert.deepEqual(
    answers,
    Array.from({ length: CALLS }, (_, n) => `answer ${n}`),
  );
  assert.equal(seen.size, CALLS);
  assert.equal(ask.stats.outcomes.compared, CALLS);
  const byTrace = new Map(
    telemetry.spans
      .filter((span) => span.name.startsWith('call '))
      .map((span) => [span.spanContext().spanId, span.spanContext().traceId]),
  );
  const runs = telemetry.spans.filter((span) => span.name === 'shadow primary');
  assert.equal(runs.length, CALLS);
  for (const { links, attributes } of runs) {
    const linked = byTrace.get(links[0]?.context.spanId ?? '');
    assert.equal(attributes['observatory.shadow_parent_trace_id'], linked);
    assert.equal(attributes['observatory.shadow_disagreement_score'], 0);
  }
});

test('runs are counted by outcome, and 10,000 names do not multiply the series', async () => {
  await using reader = new MetricReader();
  const settings = { primary: () => 'p', candidate: () => 'c', meterProvider: reader.provider };
  const ask = shadow({ ...settings, name: 'first' });
  ask();
  await ask.shutdown();
  ask();
  const runs = (await reader.points('observatory.shadow.runs')).map(({ attributes, value }) => [
    attributes['observatory.shadow.name'],
    attributes['observatory.shadow.outcome'],
    value,
  ]);
  assert.deepEqual(runs, [
    ['first', 'compared', 1],
    ['first', 'skipped_shut_down', 1],
  ]);
  for (let i = 0; i < 10_000; i += 1) shadow({ ...settings, name: `name-${i}`, maxConcurrency: 0 })();
  const names = new Set(
    (await reader.points('observatory.shadow.runs')).map(
      ({ attributes }) => attributes['observatory.shadow.name'],
    ),
  );
  assert.ok(names.size <= 51, `${names.size} names`);
  assert.ok(names.has('_other'));
  const [score] = await reader.points('observatory.shadow.disagreement');
  assert.deepEqual([score?.count, score?.value], [1, 1]);
});

test('without an SDK the pair is compared all the same', async () => {
  await telemetry.shutdown();
  const seen: ShadowComparison[] = [];
  const ask = shadow({ primary: () => 'a', candidate: () => 'a', onComparison: (c) => seen.push(c) });
  assert.equal(ask(), 'a');
  await ask.shutdown();
  assert.equal(seen[0]?.disagreement, 0);
});

test('options that cannot be used are named', () => {
  const fine = { primary: () => 1, candidate: () => 1 };
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ primary: 1 }, /'primary' of shadow\(\) to be a function/],
    [{ candidate: undefined }, /'candidate' of shadow\(\) to be a function/],
    [{ sample: 1.5 }, /`sample` to be a number from 0 to 1, got 1.5/],
    [{ maxConcurrency: -1 }, /`maxConcurrency`.*got -1/],
    [{ budgetUsd: Number.NaN }, /'budgetUsd' of shadow\(\) to be a number, got NaN/],
    [{ timeoutMs: '5' }, /'timeoutMs'.*got 5 \(string\)/],
    [{ onComparison: 'x' }, /'onComparison' of shadow\(\) to be a function, got x \(string\)/],
  ];
  for (const [wrong, message] of cases) {
    assert.throws(() => shadow({ ...fine, ...wrong } as never), { code: 'INVALID_OPTION', message });
  }
});
