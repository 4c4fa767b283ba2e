import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { type OpenCall, OpenCalls } from '../src/instrumentation/shared/open-calls.ts';

class Call implements OpenCall {
  lastActivityMs = performance.now();
  abandoned = 0;
  readonly #calls: OpenCalls;

  constructor(calls: OpenCalls) {
    this.#calls = calls;
  }

  abandon(): void {
    this.abandoned++;
    this.#calls.close(this);
  }
}

test('a call that idles longer than its bound is abandoned, one that moves is not', () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const calls = new OpenCalls();
    const [idle, moving] = [new Call(calls), new Call(calls)];
    calls.track(idle, 1000);
    calls.track(moving, 1000);
    idle.lastActivityMs -= 1001;
    mock.timers.tick(30_000);
    assert.deepEqual([idle.abandoned, moving.abandoned], [1, 0]);
    calls.close(moving);
  } finally {
    mock.timers.reset();
  }
});

test('more open calls than the bound end the eldest', () => {
  const calls = new OpenCalls();
  const all = Array.from({ length: 10_003 }, () => new Call(calls));
  for (const call of all) calls.track(call, 1e9);
  assert.deepEqual(
    all.map(({ abandoned }) => abandoned).filter((count) => count > 0),
    [1, 1, 1],
  );
  assert.deepEqual([all[0]?.abandoned, all[2]?.abandoned, all[3]?.abandoned], [1, 1, 0]);
  calls.abandonAll();
  assert.equal(
    all.reduce((sum, { abandoned }) => sum + abandoned, 0),
    10_003,
  );
});

test('calls without an answer end with the process; beyond the bound the eldest is let go, and goes on', () => {
  const calls = new OpenCalls();
  const all = Array.from({ length: 10_002 }, () => new Call(calls));
  for (const call of all) calls.begin(call);
  calls.close(all[3] as Call);
  calls.abandonAll();
  assert.deepEqual(
    all.slice(0, 5).map(({ abandoned }) => abandoned),
    [0, 0, 1, 0, 1],
  );
  calls.abandonAll();
  assert.equal(all.filter(({ abandoned }) => abandoned === 1).length, 9999);
});
