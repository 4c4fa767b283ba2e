import assert from 'node:assert/strict';
import { test } from 'node:test';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { Guard } from '../src/instrumentation/shared/index.ts';
import { boundedJson } from '../src/json/index.ts';
import { CAPTURE_CONTENT_VARIABLE, resolveCaptureContent } from '../src/processor/index.ts';

test('a throw in our own code is counted and goes no further', () => {
  const guard = new Guard('test');
  assert.equal(
    guard.run('point', () => {
      throw new Error('ours');
    }),
    undefined,
  );
  assert.equal(
    guard.run('point', () => 7),
    7,
  );
  assert.deepEqual([...guard.faults], [['point', 1]]);
});

test('a call whose context manager fails is still made, once, with its own arguments and this', () => {
  const guard = new Guard('test');
  const manager = {
    active: () => ROOT_CONTEXT,
    with: () => {
      throw new Error('broken manager');
    },
    bind: <T>(_: unknown, target: T) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager as never);
  try {
    const calls: unknown[] = [];
    const self = { name: 'self' };
    const result = guard.call(
      'call',
      ROOT_CONTEXT,
      function (this: unknown, ...args: number[]) {
        calls.push([this, args]);
        return 3;
      },
      self,
      [1, 2],
    );
    assert.equal(result, 3);
    assert.deepEqual(calls, [[self, [1, 2]]]);
    assert.equal(guard.faults.get('call'), 1);
  } finally {
    context.disable();
  }
});

test("an error of the user's call passes through and is not called a fault", () => {
  const guard = new Guard('test');
  const error = new Error('theirs');
  let calls = 0;
  assert.throws(
    () =>
      guard.call(
        'call',
        ROOT_CONTEXT,
        () => {
          calls += 1;
          throw error;
        },
        undefined,
        [],
      ),
    (caught) => caught === error,
  );
  assert.equal(calls, 1);
  assert.equal(guard.faults.size, 0);
});

test('watching a promise neither changes it nor lets a fault of ours reject anything', async () => {
  const guard = new Guard('test');
  const rejected: unknown[] = [];
  const onUnhandled = (reason: unknown) => rejected.push(reason);
  process.on('unhandledRejection', onUnhandled);
  try {
    const seen: unknown[] = [];
    guard.observe(
      'ok',
      Promise.resolve(1),
      (value) => {
        seen.push(value);
        throw new Error('ours');
      },
      () => undefined,
    );
    const failing = Promise.reject(new Error('theirs'));
    guard.observe(
      'bad',
      failing,
      () => undefined,
      (error) => {
        seen.push((error as Error).message);
        throw new Error('ours');
      },
    );
    await assert.rejects(failing, /theirs/);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen, [1, 'theirs']);
    assert.deepEqual(Object.fromEntries(guard.faults), { ok: 1, bad: 1 });
    assert.deepEqual(rejected, []);
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
});

test('content capture: the environment beats the option, in both vocabularies; other words are ignored', () => {
  const resolve = (configured: boolean | undefined, word?: string) =>
    resolveCaptureContent(configured, { [CAPTURE_CONTENT_VARIABLE]: word });
  assert.equal(resolve(undefined), false);
  assert.equal(resolve(true), true);
  for (const word of ['true', 'SPAN_ONLY', 'span_and_event', ' TRUE '])
    assert.equal(resolve(false, word), true, word);
  for (const word of ['false', 'EVENT_ONLY', 'NO_CONTENT']) assert.equal(resolve(true, word), false, word);
  assert.equal(resolve(true, 'yes please'), true);
  assert.equal(resolve(false, 'constructor'), false);
});

test('bounded JSON is the same as JSON under the limit, valid and cut above it', () => {
  const small = { a: [1, 'two', { b: null }], c: true };
  assert.equal(boundedJson(small, 1000), JSON.stringify(small));
  const wide = boundedJson({ rows: Array.from({ length: 1_000_000 }, () => 'x'.repeat(10)) }, 500);
  assert.ok(wide.length < 2000, `${wide.length}`);
  JSON.parse(wide);
  const cyclic: Record<string, unknown> = { id: 1n };
  cyclic.self = cyclic;
  assert.ok(JSON.parse(boundedJson(cyclic, 100)));
  assert.equal(boundedJson(undefined, 10), 'null');
});

test('nothing is free in bounded JSON, so that a value of many empty parts is not walked to its end', () => {
  const deep = (inner: unknown): unknown => {
    let value = inner;
    for (let level = 0; level < 31; level += 1) value = [value];
    return value;
  };
  for (const part of [[], {}, [[]], Buffer.alloc(0)]) {
    let read = 0;
    const parts = new Proxy(
      Array.from({ length: 100_000 }, () => part),
      {
        get(list, key, self) {
          if (typeof key === 'string' && /^[0-9]+$/.test(key)) read += 1;
          return Reflect.get(list, key, self);
        },
      },
    );
    for (const value of [{ parts }, deep(parts)]) {
      read = 0;
      JSON.parse(boundedJson(value, 500));
      assert.ok(read > 0 && read < 600, `${read} of ${JSON.stringify(part)}`);
    }
  }
});
