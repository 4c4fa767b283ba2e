import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';

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
    const modules = ['../src/signals/index.js', '../src/policy/index.js', './support/machine-speed.js'].map(
      (path) => new URL(path, import.meta.url).href,
    );
    // The least of several processes: other load on the machine makes some of them slower.
    let longest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5 && longest >= 50; i++) {
      const args = ['--input-type=module', '-e', SCRIPT, ...modules, by as string];
      const read = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
      assert.equal(read.level, 'high');
      longest = Math.min(longest, read.longest);
    }
    assert.ok(longest < 50, `${longest} ms`);
  });
