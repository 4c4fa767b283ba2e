import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bundle } from './support/bundle.ts';

/**
 * Turns of the loop of a fresh process, in milliseconds of its main thread on a core of its own: the warming, then the
 * largest answer.
 */
const SCRIPT = `
const { scoreEvidence, warmEvidence } = await import(process.argv[1]);
const { PolicyGate } = await import(process.argv[2]);
const { Gauge, threadCpu } = await import(process.argv[3]);
const gauge = new Gauge();
const turn = () => new Promise((resolve) => setImmediate(resolve));
const order = (i) => 'Order W' + (1000000 + (i * 7919) % 8999999) + ' has been updated for $' + (i % 900) + '.25 to card ' + (1000 + i) + ', 订单已经取消了，退款12' + (i % 90) + '元。 ';
const fill = (size) => Array.from({ length: size / 50 }, (_, i) => order(i)).join('').slice(0, size);
const steps = Array.from({ length: 100 }, (_, i) => ({ tool: i % 3 ? 'get_order' : 'update_order', arguments: { id: 'W' + i }, result: fill(2000) }));
const input = { prompt: fill(8192), answer: fill(9000), retrievedContext: fill(40000), steps };
gauge.begin();
let last = threadCpu();
const times = [];
const note = () => {
  const spent = (threadCpu() - last) / 1000;
  times.push(spent / gauge.slowness());
  last = threadCpu();
};
if (process.argv[4] === 'gate') new PolicyGate({ maxEvidenceRisk: 0.7, policy: { version: 1 } });
else void warmEvidence();
for (let i = 0; i < 18; i++) {
  await turn();
  note();
}
const { level } = scoreEvidence(input);
note();
console.log(JSON.stringify({ level, longest: Math.max(...times) }));
`;

for (const [name, by] of [
  ['a model span', 'span'],
  ['a gate that limits the evidence risk, with no span before', 'gate'],
])
  test(`no turn of the loop takes 50 ms in a fresh process, neither preparing the scores nor the first answer, of hostile text: ${name}`, {
    skip: process.platform !== 'linux',
  }, () => {
    const modules = ['../src/evidence/index.js', '../src/policy/index.js', './support/machine-speed.js'].map(
      (path) => new URL(path, import.meta.url).href,
    );
    // The least of several processes: other load on the machine makes some of them slower.
    let longest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 12 && longest >= 50; i++) {
      const args = ['--input-type=module', '-e', SCRIPT, ...modules, by as string];
      const read = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
      assert.notEqual(read.level, undefined);
      longest = Math.min(longest, read.longest);
    }
    assert.ok(longest < 50, `${longest} ms`);
  });

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Ends a tool call and an answer against it in a fresh process; says what was loaded before and on which fields. */
const PROGRAM = `
import { createRequire } from 'node:module';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-node';
import { attachInteraction, ObservatorySpanProcessor } from './dist/lib/index.js';
const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.endsWith('evidence.cjs'));
const processor = new ObservatorySpanProcessor({ signals: { verifier: 'evidence' } });
const tracer = new BasicTracerProvider({ spanProcessors: [processor] }).getTracer('t');
tracer.startSpan('t', { attributes: { 'gen_ai.operation.name': 'execute_tool' } }).end();
const before = isLoaded();
const span = tracer.startSpan('c', { attributes: { 'gen_ai.operation.name': 'chat' } });
const steps = [{ tool: 'send_email', result: 'timeout', isError: true }];
attachInteraction(span, { prompt: 'Send it.', answer: 'The mail has been sent.', steps });
span.end();
const { stats: { faults }} = processor;
const { attributes } = span;
const [level, score, reason] = ['evidence_risk_level', 'verifier_score', 'verifier_reason'].map((name) => attributes['observatory.' + name]);
console.log(JSON.stringify({ before, after: isLoaded(), level, score, reason, faults }));
`;

/** Runs {@link PROGRAM} on a copy of the package, with the chunk that scores answers or without. */
function runProgram(t: TestContext, hasScorer: boolean): unknown {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const filter = (file: string) =>
    !/\/(?:page|empty-store)/.test(file) && (hasScorer || !file.endsWith('.cjs'));
  cpSync(bundle(), join(folder, 'dist/lib'), { recursive: true, filter });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  return JSON.parse(execFileSync(process.execPath, ['program.mjs'], { cwd: folder, encoding: 'utf8' }));
}

test('a program loads what scores answers with the first span of a model, in time for its end at once', (t) => {
  assert.deepEqual(runProgram(t, true), {
    before: false,
    after: true,
    level: 'high',
    score: 1 - 0.97,
    reason: 'tool_failed_claimed_success',
    faults: 0,
  });
});

test('a program in which it cannot be loaded, as one bundled into a file, has no score but a reason and a fault', (t) => {
  assert.deepEqual(runProgram(t, false), {
    before: false,
    after: false,
    reason: 'evidence_failed',
    faults: 1,
  });
});
