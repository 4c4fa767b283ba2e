/**
 * Full policy decisions per call, with and without the audit record, side by side with cedar-wasm on the same rules.
 *
 *   node dist/bench/policy.js
 *
 * The peer is installed on demand in `bench/peers`, which is not part of the repository.
 *
 * The calls are AgentDojo's 339 ground-truth calls if `OBSERVATORY_DATA` has them, else made-up ones. Rules: one allow
 * rule per tool with an argument check, then deny rules for other tools, up to the requested number. Cedar gets the
 * same allow and forbid rules with the same argument as context, and parses its policy set once. In the last row each
 * argument of 100 rules has to come from the prompt or from one of 200 earlier results, which hold half of them.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileStats } from '../src/json/index.ts';
import {
  AuditLog,
  decisionToWire,
  type GateCall,
  PolicyGate,
  type ToolDefinition,
} from '../src/policy/index.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 30);
const RULES = [1, 100, 1_000];
const SERVER = 'bench';

interface Workload {
  readonly name: string;
  readonly tools: readonly ToolDefinition[];
  readonly calls: readonly GateCall[];
}

interface Row {
  readonly kind: string;
  readonly name: string;
  readonly suite: string;
  readonly description: string;
  readonly inputSchema: object;
  readonly ground_truth_calls: readonly { tool: string; args: Record<string, unknown> }[];
}

/** Every suite is one server of its own in AgentDojo; here they are one, with the first tool of each name. */
function workload(): Workload {
  const dir = process.env.OBSERVATORY_DATA ?? new URL('../../../shared/data', import.meta.url).pathname;
  const file = join(dir, 'policy/agentdojo_v1_2_tasks.jsonl');
  if (!existsSync(file)) {
    const inputSchema = {
      type: 'object',
      properties: { id: { type: 'string', maxLength: 40 }, n: { type: 'integer' } },
      required: ['id'],
    };
    const tools = Array.from({ length: 50 }, (_, i) => ({
      name: `tool_${i}`,
      description: `Tool ${i}`,
      inputSchema,
    }));
    const calls = Array.from({ length: 339 }, (_, i) => ({
      server: SERVER,
      tool: `tool_${i % 50}`,
      args: { id: `x-${i}`, n: i },
    }));
    return { name: 'made-up calls', tools, calls };
  }
  const rows = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
  const tools = new Map<string, ToolDefinition>();
  for (const { kind, name, description, inputSchema } of rows) {
    if (kind === 'tool' && !tools.has(name)) tools.set(name, { name, description, inputSchema });
  }
  const calls = rows
    .filter(({ kind }) => kind === 'user_task')
    .flatMap((row) => row.ground_truth_calls.map(({ tool, args }) => ({ server: SERVER, tool, args })));
  return { name: 'AgentDojo ground-truth calls', tools: [...tools.values()], calls };
}

/** The tools there are, and made-up ones for the rules beyond them. */
function policyOf(
  tools: readonly ToolDefinition[],
  count: number,
): { policy: object; names: readonly string[] } {
  const named = tools.slice(0, count).map(({ name }) => name);
  const extra = Array.from({ length: count - named.length }, (_, i) => `other_${i}`);
  const rules = [
    ...named.map((tool) => ({ id: `allow-${tool}`, effect: 'allow', server: SERVER, tool })),
    ...extra.map((tool) => ({
      id: `deny-${tool}`,
      effect: 'deny',
      server: SERVER,
      tool,
      args: { id: { const: 'x' } },
    })),
  ];
  return { policy: { version: 1, rules }, names: extra };
}

const SOURCES = { rules: 100, results: 200 };

/** Each argument has to come from the prompt, or from results. */
function withSources(policy: object, tools: readonly ToolDefinition[]): object {
  const argumentsOf = new Map(
    tools.map(({ name, inputSchema }) => [name, Object.keys((inputSchema as Schema)?.properties ?? {})]),
  );
  const { rules } = policy as { rules: readonly { tool: string; effect: string }[] };
  const from = ['prompt', `${SERVER}.*`];
  return {
    ...policy,
    rules: rules.map((rule) => {
      const sources = (argumentsOf.get(rule.tool) ?? []).map((arg) => ({ arg, from }));
      return rule.effect !== 'allow' || sources.length === 0 ? rule : { ...rule, sources };
    }),
  };
}

interface Schema {
  readonly properties?: object;
}

/** A run of which the gate has seen results: records of ten members, some with an argument of a later call. */
async function remember(gate: PolicyGate, calls: readonly GateCall[]): Promise<readonly GateCall[]> {
  const values = calls.flatMap(({ args }) => Object.values(args));
  const said = values.filter((_, index) => index % 4 === 0).map((value) => JSON.stringify(value));
  const userRequest = said.join(' ').slice(0, 4_000);
  const inRun = calls.map((call) => ({ ...call, runId: 'run', userRequest }));
  for (let at = 0; at < SOURCES.results; at += 1) {
    const items = Array.from({ length: 10 }, (_, index) => ({
      id: `${at}-${index}`,
      value: values[(at * 10 + index) % values.length],
      email: `person${index}@example-${at}.com`,
      date: `2026-${1 + (at % 12)}-${1 + index}`,
      note: `Note ${index} about the order ${at * index} of the customer ${at}, who wrote on Monday. `.repeat(
        3,
      ),
    }));
    const text = JSON.stringify(items);
    await gate.rememberResult(inRun[at % inRun.length] as GateCall, { content: [{ type: 'text', text }] });
  }
  return inRun;
}

interface Timing {
  readonly p50: number;
  readonly p99: number;
  /** The 99th percentile of the best time of each call: what the machine's other work adds is left out. */
  readonly best99: number;
}

/** Percentiles of single calls in microseconds, after ten rounds of warming up. */
async function time(calls: readonly GateCall[], act: (call: GateCall) => unknown): Promise<Timing> {
  for (let round = 0; round < 10; round += 1) for (const call of calls) await act(call);
  const samples = new Float64Array(calls.length * ROUNDS);
  let n = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const call of calls) {
      const started = performance.now();
      const pending = act(call);
      if (pending instanceof Promise) await pending;
      samples[n] = (performance.now() - started) * 1_000;
      n += 1;
    }
  }
  const best = new Float64Array(calls.length).fill(Number.POSITIVE_INFINITY);
  for (const [i, sample] of samples.entries())
    best[i % calls.length] = Math.min(best[i % calls.length] ?? sample, sample);
  const at = (sorted: Float64Array, share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  samples.sort();
  best.sort();
  return { p50: at(samples, 0.5), p99: at(samples, 0.99), best99: at(best, 0.99) };
}

interface Cedar {
  preparsePolicySet(id: string, policies: object): { type: string };
  statefulIsAuthorized(call: object): { type: string; response?: { decision: string } };
}

function loadCedar(): Cedar | undefined {
  const peers = fileURLToPath(new URL('../../bench/peers/policy/', import.meta.url));
  try {
    if (!existsSync(join(peers, 'node_modules'))) {
      mkdirSync(peers, { recursive: true });
      writeFileSync(join(peers, 'package.json'), JSON.stringify({ private: true }));
      const install = ['install', '--no-audit', '--no-fund', '--silent', '--ignore-scripts'];
      execFileSync('npm', [...install, '@cedar-policy/cedar-wasm@latest'], { cwd: peers, stdio: 'ignore' });
    }
    return createRequire(peers)('@cedar-policy/cedar-wasm/nodejs') as Cedar;
  } catch {
    return undefined;
  }
}

function cedarText(tools: readonly ToolDefinition[], count: number): string {
  const allow = tools
    .slice(0, count)
    .map(({ name }) => `permit(principal, action == Action::"call", resource == Tool::"${SERVER}/${name}");`);
  const deny = Array.from(
    { length: count - allow.length },
    (_, i) =>
      `forbid(principal, action == Action::"call", resource == Tool::"${SERVER}/other_${i}") when { context has id && context.id == "x" };`,
  );
  return [...allow, ...deny].join('\n');
}

/** The request of a call, as Cedar takes it: the texts of the arguments as context. */
function cedarCall(call: GateCall, set: string): object {
  const context = Object.fromEntries(
    Object.entries(call.args).filter(([, value]) => typeof value === 'string'),
  );
  return {
    principal: { type: 'User', id: 'bench' },
    action: { type: 'Action', id: 'call' },
    resource: { type: 'Tool', id: `${call.server}/${call.tool}` },
    context,
    preparsedPolicySetId: set,
    entities: [],
  };
}

const { name, tools, calls } = workload();
const cedar = loadCedar();
const table: string[] = [];
const us = ({ p50, best99, p99 }: Timing) =>
  [p50, best99, p99].map((micros) => micros.toFixed(1).padStart(9)).join(' ');

for (const tracks of [false, true])
  for (const count of tracks ? [SOURCES.rules] : RULES) await measure(count, tracks);

async function measure(count: number, tracks: boolean): Promise<void> {
  const { policy: plain, names } = policyOf(tools, count);
  const policy = tracks ? withSources(plain, tools) : plain;
  const stubs = names.map((tool) => ({
    name: tool,
    inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
  }));
  const compiledBefore = compileStats.compiled;
  const gate = new PolicyGate({ policy, tools: { [SERVER]: { tools: [...tools, ...stubs] } } });
  gate.assertReady();
  const compiled = compileStats.compiled - compiledBefore;
  const asked = tracks ? await remember(gate, calls) : calls;
  const dir = mkdtempSync(join(tmpdir(), 'observatory-bench-'));
  const audit = new AuditLog({ dir, key: 'bench' });
  const run = audit.startRun();
  const decide = await time(asked, (call) => gate.evaluate(call));
  const audited = await time(asked, async (call) => {
    const decision = await gate.authorize(call);
    run.record('call_decided', { server: call.server, tool: call.tool, ...decisionToWire(decision) });
  });
  run.finish();
  audit.close();
  rmSync(dir, { recursive: true });
  if (compileStats.compiled - compiledBefore !== compiled)
    throw new Error('a validator was compiled during the calls');
  let peer = '   (not installed)';
  if (tracks) peer = `   (with sources, ${SOURCES.results} earlier results)`;
  else if (cedar !== undefined) {
    const parsed = cedar.preparsePolicySet(`set-${count}`, { staticPolicies: cedarText(tools, count) });
    if (parsed.type !== 'success') throw new Error(`cedar refused the rules: ${JSON.stringify(parsed)}`);
    const answer = await time(calls, (call) => cedar.statefulIsAuthorized(cedarCall(call, `set-${count}`)));
    const agree = calls.filter((call) => {
      const theirs =
        cedar.statefulIsAuthorized(cedarCall(call, `set-${count}`)).response?.decision === 'allow';
      return theirs === (gate.evaluate(call).decision === 'allow');
    }).length;
    peer = `${us(answer)}   (${agree} of ${calls.length} decisions agree)`;
  }
  gate.close();
  table.push(
    `${(tracks ? 'sources' : String(count)).padStart(5)} | ${us(decide)} | ${us(audited)} | ${peer}`,
  );
}

console.log(
  `${name}: ${calls.length} calls x ${ROUNDS} rounds; microseconds: p50, p99 of each call's best, p99`,
);
console.log('rules | gate decision                 | + audit record                | cedar-wasm, rules only');
for (const line of table) console.log(line);
