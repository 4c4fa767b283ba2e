/** Programs of every shape that read stdin: with and without `register` they write the same bytes and end alike. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { OtlpCollector } from './support/otlp-collector.ts';
import { outcomeOf, PATIENT } from './support/programs.ts';
import { random } from './support/random.ts';
import { tempDir } from './support/temp-dir.ts';

const REGISTER = new URL('../src/setup/register.js', import.meta.url).href;

/** Each says at its end what it read. All send it back, so that the answers among it end their requests. */
const PREAMBLE = `
import { createHash } from 'node:crypto';
const hash = createHash('sha256');
process.on('exit', () => process.stderr.write('read ' + hash.digest('hex')));
`;
const PROGRAMS: Record<string, string> = {
  'data events': `process.stdin.on('data', (d) => { hash.update(d); process.stdout.write(d); });`,
  'readable and read()': `
const { stdin } = process;
stdin.on('readable', () => { for (let d = stdin.read(); d !== null; d = stdin.read()) { hash.update(d); process.stdout.write(d); } });`,
  'iteration of text': `
process.stdin.setEncoding('utf8');
for await (const d of process.stdin) { hash.update(d); process.stdout.write(d, 'utf8'); }`,
  'a pipe into stdout': `process.stdin.pipe(process.stdout);`,
  'the stream by its name': `
const { stdin, stdout } = await import('node:process');
stdin.on('data', (d) => { hash.update(d); stdout.cork(); stdout.write(d.subarray(0, 9)); stdout.write(d.subarray(9)); process.nextTick(() => stdout.uncork()); });`,
  'the descriptor itself': `
import { readSync } from 'node:fs';
const buffer = Buffer.alloc(999);
for (let n; (n = readSync(0, buffer)) > 0; ) { hash.update(buffer.subarray(0, n)); process.stdout.write(Buffer.from(buffer.subarray(0, n))); }`,
  'a pause after each chunk': `
const { stdin } = process;
stdin.on('data', (d) => { hash.update(d); stdin.pause(); setTimeout(() => stdin.resume(), 1); process.stdout.write(d); });`,
  'an exit in the middle': `process.stdin.on('data', (d) => { process.stdout.write(d); process.exit(3); });`,
};

// Without these hooks Node itself opens stdout, for the thread of its loader.
if ('registerHooks' in nodeModule)
  PROGRAMS['the descriptor of stdout itself'] = `
import { writeSync } from 'node:fs';
const all = [];
process.stdin.on('data', (d) => { hash.update(d); all.push(d); });
process.stdin.on('end', () => process.stderr.write('wrote ' + writeSync(1, Buffer.concat(all)) + ' '));`;

const OPENING = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tester', version: '1' } },
})}\n`;
const ANSWER = '{"result":{"serverInfo":{"name":"echo","version":"1"}},"jsonrpc":"2.0","id":0}\n';
const call = (text: string) =>
  `${JSON.stringify({ jsonrpc: '2.0', id: text, method: 'tools/call', params: { name: 'é', arguments: { text } } })}\n`;

function bytesOf(seed: number, length: number): Buffer {
  const next = random(seed);
  return Buffer.from(Uint8Array.from({ length }, () => next(256)));
}

const INPUTS: Readonly<Record<string, Buffer>> = {
  bytes: bytesOf(1, 200_000),
  'a long first line': Buffer.from(`[${'1,'.repeat(100_000)}1]`),
  'MCP, then bytes': Buffer.concat([Buffer.from(OPENING + ANSWER), bytesOf(2, 300_000)]),
  'MCP, blank lines, a batch, 3 MB, no end': Buffer.from(
    `\n \n${OPENING}${ANSWER}[${call('a').trim()},7,null]\n${call('€ 🦦'.repeat(500_000))}\r\n{"jsonrpc":`,
  ),
};

async function run(
  program: string,
  input: Buffer,
  flags: readonly string[],
  env: Readonly<Record<string, string>>,
) {
  const child = spawn(process.execPath, [...flags, program], {
    env: { PATH: process.env.PATH ?? '', OTEL_METRICS_EXPORTER: 'none', ...PATIENT, ...env },
  });
  // A program may end before it has read all.
  child.stdin.on('error', () => {});
  let at = 0;
  // In pieces that cut characters, messages and the first line.
  for (const length of [1, 2, 30, 200, 4_096]) {
    child.stdin.write(input.subarray(at, at + length));
    at += length;
  }
  child.stdin.end(input.subarray(at));
  const { code, signal, stdout, stderr } = await outcomeOf(child);
  return { code, signal, stdout: createHash('sha256').update(stdout).digest('hex'), stderr };
}

for (const [name, source] of Object.entries(PROGRAMS)) {
  // Some use no stdin or no stdout of Node's, and one may end before the first answer or after it.
  const isWatched = !name.startsWith('the descriptor');
  test(`stdin and stdout are as they were: ${name}`, async () => {
    await using collector = await OtlpCollector.start();
    const program = join(tempDir(), 'program.mjs');
    writeFileSync(program, PREAMBLE + source);
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const tried = Object.entries(INPUTS).map(async ([kind, input]) => {
      const bare = await run(program, input, [], env);
      const watched = await run(program, input, ['--import', REGISTER], env);
      assert.deepEqual(watched, bare, kind);
    });
    await Promise.all(tried);
    if (name === 'an exit in the middle') return;
    assert.equal(
      collector.spans.some((span) => span.name === 'initialize'),
      isWatched,
    );
  });
}
