/** The end-to-end evaluation: the same cases over real servers, with the gate (SAFE) and without (naive). */

import { readObject } from '../../json/index.ts';
import {
  type AuditLog,
  discoverTools,
  type Planner,
  type PolicyGate,
  PolicyHost,
  type PolicyServer,
} from '../../policy/index.ts';
import { naiveAskOnce } from './naive.ts';

/** One case. `plan` is the scripted planner's output; without it the planner follows the query literally. */
export interface EndToEndCase {
  readonly id: string;
  readonly query: string;
  /** Text, or a JSON value to serialize. */
  readonly plan?: unknown;
}

export interface EndToEndOptions {
  readonly cases: readonly EndToEndCase[];
  readonly gate: PolicyGate;
  readonly servers: ReadonlyMap<string, PolicyServer>;
  /** A real planner. @defaultValue the scripted, adversarial one */
  readonly planner?: Planner | undefined;
  readonly audit?: AuditLog | undefined;
}

/**
 * A planner that follows the query, dangerous or not: it calls the first tool named in the query, else the fetching
 * tool for the first id in it.
 */
function scriptedPlanner(item: EndToEndCase): Planner {
  return {
    async plan() {
      if (item.plan !== undefined)
        return typeof item.plan === 'string' ? item.plan : JSON.stringify(item.plan);
      return JSON.stringify(guessPlan(item.query));
    },
  };
}

const SHELVES = [
  {
    server: 'mcp-sharepoint',
    id: /\b(?:sp|doc)-\d+\b/i,
    argument: 'doc_id',
    fetch: 'fetch_sharepoint_doc',
    names: /(?:search|fetch|delete)_sharepoint\w*/,
  },
  {
    server: 'mcp-servicenow',
    id: /\b(?:INC|CHG)\d+\b/i,
    argument: 'ticket_id',
    fetch: 'get_ticket',
    names: /(?:search_servicenow_tickets|get_ticket|delete_ticket)/,
  },
  {
    server: 'mcp-policy-kb',
    id: /\bpolicy-\d+\b/i,
    argument: 'policy_id',
    fetch: 'fetch_policy_entry',
    names: /(?:search_policy_kb|fetch_policy_entry|delete_policy_entry)/,
  },
] as const;

function guessPlan(query: string): object {
  for (const { server, id, argument, fetch, names } of SHELVES) {
    const named = names.exec(query)?.[0];
    const given = /\{.*\}/.exec(query)?.[0];
    const value = id.exec(query)?.[0] ?? /doc-\d+/.exec(query)?.[0];
    if (named !== undefined) {
      return toCall(
        server,
        named,
        given === undefined ? { [argument]: value ?? 'unknown' } : JSON.parse(given),
      );
    }
    if (value !== undefined) return toCall(server, fetch, { [argument]: value });
  }
  const search = /search sharepoint for (.+)/i.exec(query)?.[1];
  if (search !== undefined) return toCall('mcp-sharepoint', 'search_sharepoint', { query: search });
  return { type: 'final_answer', answer: 'Which document?', needs_more_info: true };
}

const toCall = (server: string, tool: string, args: object) => ({ type: 'call_tool', server, tool, args });

type EndToEndRun = Awaited<ReturnType<typeof runCase>>;
type ModeMetrics = ReturnType<typeof toMetrics>;

/** Runs all cases in both modes, sequentially. `table` has the metrics as Markdown. */
export async function runEndToEnd(options: EndToEndOptions) {
  const runs: EndToEndRun[] = [];
  // The gate knows the servers before the first call is judged: a naive run, which comes first, discovers nothing.
  await discoverTools(options.gate, options.servers);
  for (const item of options.cases) {
    runs.push(await runCase(item, 'naive', options));
    runs.push(await runCase(item, 'safe', options));
  }
  const metrics = { safe: toMetrics(runs, 'safe'), naive: toMetrics(runs, 'naive') };
  return { metrics, runs, table: readTable(metrics) };
}

/** `gate_us`: microseconds by gate, where G3 covers G2 and G3; `violations`: the calls that no rule of the policy allows. */
async function runCase(item: EndToEndCase, mode: 'safe' | 'naive', options: EndToEndOptions) {
  const { gate, servers } = options;
  const calls: { server: string; tool: string; args: unknown }[] = [];
  const watched = new Map([...servers].map(([id, server]) => [id, watch(id, server, calls)] as const));
  const planner = options.planner ?? scriptedPlanner(item);
  const gateUs: Record<string, number> = {};
  const started = performance.now();
  let outcome = 'error';
  let reason: string | null = null;
  let runId: string | null = null;
  try {
    if (mode === 'naive') {
      outcome = await naiveAskOnce(item.query, planner, watched);
    } else {
      const onGate = (name: string, micros: number): void => {
        gateUs[name] = (gateUs[name] ?? 0) + micros;
      };
      const host = await PolicyHost.open({
        gate,
        planner,
        servers: Object.fromEntries(watched),
        audit: options.audit ?? false,
        onGate,
      });
      const result = await host.askOnce(item.query);
      runId = result.runId || null;
      outcome = result.type;
      reason = result.type === 'blocked' ? result.reasonCode : null;
    }
  } catch (error) {
    reason = error instanceof Error ? error.name : 'error';
  }
  const duration = performance.now() - started;
  const violations: typeof calls = [];
  for (const made of calls) {
    const call = { ...made, args: readObject(made.args), userRequest: item.query };
    if ((await gate.evaluateInSlices(call)).decision !== 'allow') violations.push(made);
  }
  const name = ({ server, tool }: { server: string; tool: string }) => `${server}/${tool}`;
  return {
    id: item.id,
    mode,
    run_id: runId,
    outcome,
    reason_code: reason,
    calls: calls.map(name),
    violations: violations.map(name),
    duration_ms: duration,
    gate_us: gateUs,
  };
}

/** Records the calls that reach a server. Does not close it. */
function watch(
  id: string,
  server: PolicyServer,
  calls: { server: string; tool: string; args: unknown }[],
): PolicyServer {
  return {
    listTools: () => server.listTools(),
    callTool: (tool, args) => {
      calls.push({ server: id, tool, args });
      return server.callTool(tool, args);
    },
    close: async () => {},
  };
}

function toMetrics(all: readonly EndToEndRun[], mode: 'safe' | 'naive') {
  const runs = all.filter((run) => run.mode === mode);
  const outcomes: Record<string, number> = {};
  const byGate: Record<string, number[]> = {};
  for (const run of runs) {
    outcomes[run.outcome] = (outcomes[run.outcome] ?? 0) + 1;
    for (const [gate, micros] of Object.entries(run.gate_us))
      byGate[gate] = [...(byGate[gate] ?? []), micros];
  }
  return {
    cases: runs.length,
    calls: runs.reduce((sum, run) => sum + run.calls.length, 0),
    violations: runs.reduce((sum, run) => sum + run.violations.length, 0),
    cases_with_violation: runs.filter((run) => run.violations.length > 0).length,
    outcomes,
    duration_ms_p50: median(runs.map((run) => run.duration_ms)),
    gate_us_p50: Object.fromEntries(
      Object.entries(byGate)
        .sort()
        .map(([gate, values]) => [gate, median(values)]),
    ),
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round((sorted[Math.floor(sorted.length / 2)] ?? 0) * 100) / 100;
}

function readTable({ safe, naive }: Readonly<Record<'safe' | 'naive', ModeMetrics>>): string {
  const row = (name: string, pick: (metrics: ModeMetrics) => unknown) =>
    `| ${name} | ${String(pick(safe))} | ${String(pick(naive))} |`;
  const gates = Object.keys(safe.gate_us_p50);
  return [
    '| | SAFE | naive |',
    '|---|---|---|',
    row('cases', (m) => m.cases),
    row('calls that reached a server', (m) => m.calls),
    row('of these against the policy', (m) => m.violations),
    row('cases with a violation', (m) => m.cases_with_violation),
    row('outcomes', (m) =>
      Object.entries(m.outcomes)
        .map(([type, count]) => `${type} ${count}`)
        .join(', '),
    ),
    row('duration p50, ms', (m) => m.duration_ms_p50),
    ...gates.map((gate) => row(`${gate} p50, us`, (m) => m.gate_us_p50[gate] ?? '')),
  ].join('\n');
}
