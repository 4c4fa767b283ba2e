import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hashFolder } from '../scripts/hash-folder.ts';
import { Kernel } from '../src/signals/kernel.ts';
import { KERNEL_SOURCE_HASH } from '../src/signals/kernel-binary.ts';
import { normalize } from '../src/signals/normalize.ts';
import { extractNumbers, parseLongNumber } from '../src/signals/numbers.ts';
import { ANSWER, KernelTokenSets } from '../src/signals/token-sets.ts';
import { Utf8Text } from '../src/signals/utf8-text.ts';
import { shareTokenSets } from '../src/signals/workspace.ts';
import { random } from './support/random.ts';
import { readSignalRows } from './support/signal-rows.ts';
import { sized } from './support/size.ts';

const root = new URL('../../', import.meta.url);

test('this machine runs the kernel', () => {
  assert.ok(shareTokenSets() instanceof KernelTokenSets);
});

test('the kernel was compiled from its sources as they are', () => {
  const hash = hashFolder(fileURLToPath(new URL('assembly', root)));
  assert.equal(hash, KERNEL_SOURCE_HASH, 'run: npm run build && node dist/scripts/build-kernel.js');
});

/** Both normal forms of a text by both implementations. */
function assertSameNormalForms(kernel: Kernel, text: string): void {
  const source = new Utf8Text().encode(text);
  const [byKernel, byScript] = [new Utf8Text(), new Utf8Text()];
  for (const replaceVolatile of [true, false]) {
    kernel.normalize(source, byKernel, replaceVolatile);
    normalize(source, byScript, replaceVolatile);
    assert.equal(byKernel.toString(), byScript.toString(), JSON.stringify([text, replaceVolatile]));
  }
}

test('the kernel and the script normalize random ASCII texts alike', () => {
  const next = random(42);
  const pick = <T>(values: readonly T[]): T => values[next(values.length)] as T;
  const digits = (count: number) => Array.from({ length: count }, () => next(10)).join('');
  const hex = (count: number) =>
    Array.from({ length: count }, () => pick([...'0123456789abcdefABCDEF'])).join('');
  const pieces: readonly (() => string)[] = [
    () => pick([' ', '  ', '\n', '\t\v', '\r\n', '\f', '\u001c', '\u001f ', '      \n']),
    () => pick(['-', '_', '.', ':', '+', '/', ',', '<', '@', '[', '`', '{', '\0', '\u0001', '\u007f']),
    () => pick(['Word', 'a', 'T', 'Z', 'abc', 'deadbeef', 'x', 'Invoice', 'FACADE']),
    () => digits(1 + next(5)),
    () => `${digits(1 + next(3))}.${digits(next(4))}`,
    () => `${hex(8)}-${hex(4)}-${pick([...'12345'])}${hex(3)}-${pick([...'89abAB'])}${hex(3)}-${hex(12)}`,
    () => `${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
    () => `${digits(4)}-${digits(2)}-${digits(2)}`,
    () =>
      `${digits(4)}-${digits(2)}-${digits(2)}${pick(['T', ' ', '\n', 't'])}${digits(2)}:${digits(2)}:${digits(2)}`,
    () => pick(['Z', '+05:30', '-0800', '+05', '.5', '.123', '.123Z']),
  ];
  const kernel = new Kernel();
  for (let i = 0; i < sized(5_000, 20_000); i += 1) {
    assertSameNormalForms(kernel, Array.from({ length: next(12) }, () => pick(pieces)()).join(''));
  }
});

test('the kernel and the script normalize the adversarial texts alike', () => {
  const rows = readSignalRows(new URL('test/fixtures/signals.jsonl', root));
  assert.ok(rows.length >= 400);
  const kernel = new Kernel();
  for (const { input } of rows) {
    // What is beyond ASCII is left to the script.
    for (const text of Object.values(input)) {
      if (text !== null) assertSameNormalForms(kernel, text.replaceAll(/[^\0-\x7f]/g, '?'));
    }
  }
});

test('the kernel normalizes texts of every length around its steps', () => {
  const kernel = new Kernel();
  for (let length = 0; length < 200; length += 1) {
    for (const piece of ['aB', ' ', '1', '1 ', 'a-', '2026-02-10']) {
      assertSameNormalForms(kernel, piece.repeat(length).slice(0, length));
    }
  }
});

/** The numbers of a text by both implementations. */
function assertSameNumbers(kernel: Kernel, text: string): void {
  const source = new Utf8Text().encode(text);
  const byKernel = kernel.numbers(source, (start, end) => parseLongNumber(source, start, end));
  assert.deepEqual([...byKernel], extractNumbers(source), JSON.stringify(text));
}

test('the kernel and the script read the same numbers of ASCII texts', () => {
  const next = random(7);
  const pick = <T>(values: readonly T[]): T => values[next(values.length)] as T;
  const digits = (count: number) => Array.from({ length: count }, () => next(10)).join('');
  const pieces: readonly (() => string)[] = [
    () => pick(['.', '-', '+', ' ', '..', '-.', '+-', 'e', ',', '\0', '$']),
    () => digits(1 + next(4)),
    () => digits(1 + next(20)),
    () => `${digits(1 + next(9))}.${digits(next(9))}`,
    () => pick(['word', ' of ', '-0', '0.0', '1.2.3', '.5.6', '007']),
  ];
  const kernel = new Kernel();
  for (let i = 0; i < sized(5_000, 50_000); i += 1) {
    assertSameNumbers(kernel, Array.from({ length: next(30) }, () => pick(pieces)()).join(''));
  }
  for (let length = 0; length < 200; length += 1) {
    for (const piece of ['1', '12 ', 'a1.', '.1', '-1.5', ' 123456789']) {
      assertSameNumbers(kernel, piece.repeat(length).slice(0, length));
    }
  }
});

test('memory that a huge text took is given back, and normalizing again and again takes none', () => {
  const kernel = new Kernel();
  const sets = new KernelTokenSets(kernel);
  const text = new Utf8Text();
  const huge = 'word '.repeat(4_000_000);
  for (let i = 0; i < 2; i += 1) {
    sets.reset(huge.length);
    sets.add(text.encode(huge), ANSWER);
    assert.ok(kernel.memoryBytes > 16 * 1024 * 1024);
    kernel.release();
    assert.ok(kernel.memoryBytes < 1024 * 1024);
  }
  const target = new Utf8Text();
  text.encode('a text of a few words, 42 of them');
  for (let i = 0; i < 100_000; i += 1) kernel.normalize(text, target, true);
  assert.ok(kernel.memoryBytes < 1024 * 1024);
});

test('without WebAssembly the signals are the same', () => {
  const program = `
    import { computeSignals, resolveSignalConfig } from ${JSON.stringify(new URL('dist/src/signals/index.js', root).href)};
    import { shareTokenSets } from ${JSON.stringify(new URL('dist/src/signals/workspace.js', root).href)};
    const config = resolveSignalConfig();
    const input = { prompt: 'P 1', answer: 'I think ÉÈ 2 was sent', retrievedContext: 'SENT 2', secondaryAnswer: 'x' };
    console.log(JSON.stringify([shareTokenSets().constructor.name, computeSignals(input, config)]));
  `;
  const run = (flags: readonly string[]) => {
    const args = [...flags, '--input-type=module', '--eval', program];
    return JSON.parse(
      execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    ) as [string, object];
  };
  const [kernelName, kernelSignals] = run([]);
  const [plainName, plainSignals] = run(['--jitless']);
  assert.deepEqual([kernelName, plainName], ['KernelTokenSets', 'PlainTokenSets']);
  assert.deepEqual(plainSignals, kernelSignals);
});
