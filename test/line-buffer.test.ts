import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineBuffer, TailBuffer } from '../src/mcp-client/line-buffer.ts';
import { assertGrowth } from './support/cpu-time.ts';
import { seededRandom } from './support/random.ts';

test('lines come out the same however the bytes are cut', () => {
  const random = seededRandom(3);
  const lines = Array.from({ length: 200 }, (_, i) => 'é☕'.repeat(Math.floor(random() * 40)) + i);
  const bytes = Buffer.from(
    lines.map((line, i) => `${line}${i % 3 ? '\n' : '\r\n'}${i % 7 ? '' : '\n'}`).join(''),
  );
  for (let round = 0; round < 50; round++) {
    const buffer = new LineBuffer({ maxMessageBytes: 10_000 });
    const seen: string[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + Math.floor(random() * (round === 0 ? 1 : 300));
      seen.push(...[...buffer.push(bytes.subarray(at, end))].filter((line) => line !== ''));
      at = end;
    }
    assert.deepEqual(seen, lines);
  }
});

test('a line beyond the limit is refused, one at the limit is not', () => {
  const buffer = new LineBuffer({ maxMessageBytes: 10 });
  assert.deepEqual([...buffer.push(Buffer.from('0123456789\n'))], ['0123456789']);
  assert.throws(() => [...buffer.push(Buffer.from('0123456789A'))], RangeError);
  assert.deepEqual(
    [...new LineBuffer({ maxMessageBytes: 10 }).push(Buffer.from('a\nb\n'.repeat(20)))].length,
    40,
  );
});

test('a line of too many values is refused as it arrives, many lines of fewer are not', () => {
  const buffer = new LineBuffer({ maxMessageValues: 10 });
  assert.equal([...buffer.push(Buffer.from('[[],[],[],[]]\n"[,"\n'.repeat(20)))].length, 40);
  assert.throws(() => [...buffer.push(Buffer.from('[[],[],[],[],[],[]'))], /more than 10 JSON values/);
});

test('a megabyte line in small pieces takes linear time', () => {
  const reading = (pieces: number) => () => {
    const buffer = new LineBuffer({ maxMessageBytes: 1e9, maxMessageValues: 1e9 });
    const piece = Buffer.alloc(64, 0x78);
    for (let i = 0; i < pieces; i++) for (const _line of buffer.push(piece)) assert.fail('no line yet');
    assert.equal([...buffer.push(Buffer.from('\n'))][0]?.length, pieces * 64);
  };
  assertGrowth('20,000 pieces', reading(20_000), reading(160_000), 40);
});

test('the tail holds the last bytes and no more', () => {
  const tail = new TailBuffer(10);
  for (let i = 0; i < 100; i++) tail.push(Buffer.from(`${i},`));
  assert.equal(tail.toString(), ',97,98,99,');
  tail.push(Buffer.from('x'.repeat(50)));
  assert.equal(tail.toString(), 'x'.repeat(10));
});

test('the event loop is to turn after some lines, also of those that are no messages', () => {
  const buffer = new LineBuffer({});
  assert.equal([...buffer.push(Buffer.from('x\n'.repeat(20)))].length, 20);
  assert.equal(buffer.takeTurn(), false);
  assert.equal([...buffer.push(Buffer.from('x\n'.repeat(100)))].length, 100);
  assert.equal(buffer.takeTurn(), true);
  assert.equal(buffer.takeTurn(), false);
});
