/**
 * Decisions about one tool that has many rules, with and without the audit records of a call.
 *
 *   node dist/bench/policy-one-tool.js
 *
 * `BENCH_RULES` (1,000) rules allow one value, or one pattern, of an argument each; the calls name each of them, and as many
 * values that no rule allows. `load` is CPU time. `calibration` is a fixed loop of about 20 µs, timed in between: its p99
 * shows what the machine's other work adds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditLog, type GateCall, guardedCall, PolicyGate } from '../src/policy/index.ts';

const RULES = Number(process.env.BENCH_RULES ?? 1_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 20);
const tool = {
  name: 'read',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

interface Kind {
  readonly schema: (index: number) => object;
  readonly value: (index: number) => string;
}

const KINDS: Readonly<Record<string, Kind>> = {
  literals: { schema: (i) => ({ const: `/team-${i}/plan` }), value: (i) => `/team-${i}/plan` },
  'patterns by prefix': {
    schema: (i) => ({ type: 'string', pattern: `^/team-${i}/[a-z]+$` }),
    value: (i) => `/team-${i}/plan`,
  },
  'patterns by suffix': {
    schema: (i) => ({ type: 'string', pattern: `^[a-z]+@team-${i}\\.example$` }),
    value: (i) => `ann@team-${i}.example`,
  },
  'patterns of groups': {
    schema: (i) => ({ type: 'string', pattern: `^(?:plan|note)-[0-9]-(?:${i}|x${i})$`, maxLength: 60 }),
    value: (i) => `plan-7-x${i}`,
  },
};

interface Timing {
  readonly p50: number;
  readonly p99: number;
  /** The 99th percentile of the best time of each call: what the machine's other work adds is left out. */
  readonly best99: number;
}

/** Percentiles of the times of `count` calls, which come one after the other in each round. */
function percentiles(samples: Float64Array, count: number): Timing {
  const best = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
  for (const [n, sample] of samples.entries()) best[n % count] = Math.min(best[n % count] ?? sample, sample);
  const at = (sorted: Float64Array, share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  samples.sort();
  best.sort();
  return { p50: at(samples, 0.5), p99: at(samples, 0.99), best99: at(best, 0.99) };
}

let sink = 0;
function calibrate(): void {
  for (let i = 0; i < 5_000; i += 1) sink = (sink + i) % 1_000_003;
}

async function time(calls: readonly GateCall[], act: (call: GateCall) => unknown): Promise<[Timing, Timing]> {
  for (const call of calls) await act(call);
  const samples = new Float64Array(calls.length * ROUNDS);
  const loops = new Float64Array(calls.length * ROUNDS);
  let n = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const call of calls) {
      const started = performance.now();
      const pending = act(call);
      if (pending instanceof Promise) await pending;
      const ended = performance.now();
      calibrate();
      samples[n] = (ended - started) * 1_000;
      loops[n] = (performance.now() - ended) * 1_000;
      n += 1;
    }
  }
  return [percentiles(samples, calls.length), percentiles(loops, calls.length)];
}

const us = ({ p50, p99, best99 }: Timing): string =>
  [p50, best99, p99].map((micros) => micros.toFixed(1).padStart(9)).join(' ');

console.log(
  `${RULES} rules on one tool, ${RULES * 2} calls x ${ROUNDS} rounds; microseconds: p50, p99 of each call's best, p99`,
);
console.log(
  'rules                load ms | decision                      | decision, audited             | whole audited call            | calibration',
);
for (const [name, { schema, value }] of Object.entries(KINDS)) {
  const rules = Array.from({ length: RULES }, (_, i) => ({
    id: `r${i}`,
    effect: 'allow',
    server: 's',
    tool: 'read',
    args: { path: schema(i) },
    required: ['path'],
  }));
  const calls = Array.from({ length: RULES * 2 }, (_, i) => ({
    server: 's',
    tool: 'read',
    args: { path: value(i) },
  }));
  const before = process.cpuUsage();
  const gate = new PolicyGate({ policy: { version: 1, rules }, tools: { s: { tools: [tool] } } });
  gate.assertReady();
  const { user, system } = process.cpuUsage(before);
  const load = (user + system) / 1_000;
  const dir = mkdtempSync(join(tmpdir(), 'observatory-bench-'));
  const log = new AuditLog({ dir, key: 'bench' });
  const run = log.startRun();
  const [decide, loop] = await time(calls, (call) => gate.evaluate(call));
  const [audited] = await time(calls, (call) =>
    gate.authorize(call, (decision) =>
      run.record('call_decided', { server: 's', rule_ids: decision.ruleIds }),
    ),
  );
  const [whole] = await time(calls, (call) =>
    guardedCall(call, async () => ({ content: [] }), { gate, audit: run }).catch(() => undefined),
  );
  run.finish();
  log.close();
  rmSync(dir, { recursive: true });
  gate.close();
  console.log(
    `${name.padEnd(20)} ${load.toFixed(0).padStart(7)} | ${us(decide)} | ${us(audited)} | ${us(whole)} | ${us(loop)}`,
  );
}
