import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { formatTable, formatWaterfall, Output, progressOn } from '../src/cli/terminal/index.ts';

const plain = (_style: string, text: string) => text;

function row(id: string, parent: string | null, name: string, start: number, end: number) {
  return {
    span_id: id,
    parent_span_id: parent,
    span_name: name,
    start_time: new Date(start).toISOString(),
    end_time: new Date(end).toISOString(),
    status: 'ok' as const,
  };
}

function terminal() {
  return Object.assign(new PassThrough(), { isTTY: true });
}

test('a table is as wide as its widest cell and right-aligns numbers', () => {
  const text = formatTable(
    [
      { title: 'name', value: (item: { name: string; n: number }) => item.name },
      { title: 'n', align: 'right', value: (item) => String(item.n) },
    ],
    [
      { name: 'wide name', n: 5 },
      { name: 'é😀', n: 1234 },
    ],
  );
  assert.deepEqual(text.split('\n'), [
    'name          n',
    '─────────  ────',
    'wide name     5',
    'é😀         1234',
  ]);
});

test('a waterfall nests children under their parents in order of time', () => {
  const text = formatWaterfall(
    [
      row('b', 'a', 'second', 50, 90),
      row('a', null, 'root', 0, 100),
      row('c', 'a', 'first', 0, 40),
      row('d', 'c', 'leaf', 10, 20),
    ],
    plain,
  );
  const names = text.split('\n').map((line) => line.slice(0, 12).trimEnd());
  assert.deepEqual(names, ['root', '├─ first', '│  └─ leaf', '└─ second']);
  assert.match(text, /100 ms/);
});

test('a span without its parent is at the top, and a deep trace does not overflow the stack', () => {
  const deep = Array.from({ length: 2_000 }, (_, i) =>
    row(`s${i}`, i === 0 ? 'elsewhere' : `s${i - 1}`, 'x', i, i + 1),
  );
  assert.equal(formatWaterfall(deep, plain).split('\n').length, 2_000);
});

test('colors are for a terminal that wants them', () => {
  const written = (stream: PassThrough, env: Record<string, string>) => {
    const output = new Output(stream, env);
    output.write(output.paint('bold', output.paint('red', 'x')));
    return String(stream.read());
  };
  assert.equal(written(terminal(), {}), '\u001b[1m\u001b[31mx\u001b[39m\u001b[22m');
  assert.equal(written(terminal(), { NO_COLOR: '1' }), 'x');
  assert.equal(written(terminal(), { TERM: 'dumb' }), 'x');
  assert.equal(written(new PassThrough(), {}), 'x');
});

test('progress rewrites one line on a terminal and writes plain lines elsewhere', () => {
  for (const [stream, expected] of [
    [terminal(), '\r\u001b[2Kworking ...\r\u001b[2K'],
    [new PassThrough(), 'working ...\n'],
  ] as const) {
    const progress = progressOn(new Output(stream, {}));
    progress.step('working');
    progress.done();
    assert.equal(String(stream.read()), expected);
  }
});
