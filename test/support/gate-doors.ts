/** One policy at every door: the calls of one table get the same decisions through each framework. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gateCommand } from '../../src/cli/gate.ts';
import { hookCommand } from '../../src/cli/hook/index.ts';
import { gateClient, PolicyDeniedError, PolicyGate } from '../../src/policy/index.ts';
import { TASKS, type Task } from './agentdojo.ts';
import { readRows } from './data.ts';
import type { FreshApps } from './fresh-app.ts';
import { runCommand } from './run-command.ts';
import { tempDir } from './temp-dir.ts';

/** Arguments that name who gets something. */
const RECIPIENTS = ['recipients', 'recipient', 'participants', 'email', 'user_email', 'url', 'file_id'];

/** By suite its tools, the calls of its tasks, and a policy that allows, asks about and denies some of them. */
function makeTable() {
  const rows = readRows<Task>(TASKS);
  const suites = [...new Set(rows.filter(({ kind }) => kind === 'tool').map(({ suite }) => suite))];
  return Object.fromEntries(
    suites.map((suite) => {
      const definitions = rows
        .filter((row) => row.kind === 'tool' && row.suite === suite)
        .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
      const rules = definitions.slice(0, -3).map(({ name, inputSchema }) => {
        const declared = Object.keys(inputSchema.properties ?? {});
        const provenance = RECIPIENTS.filter((argument) => declared.includes(argument));
        const more = provenance.length === 0 ? {} : { provenance };
        return { id: name, effect: 'allow', server: suite, tool: name, ...more };
      });
      const calls = rows
        .filter((row) => row.kind === 'user_task' && row.suite === suite)
        .flatMap(({ prompt, ground_truth_calls }) => ground_truth_calls.map((call) => ({ ...call, prompt })));
      return [suite, { definitions, policy: { version: 1, rules }, calls }];
    }),
  );
}

type Table = ReturnType<typeof makeTable>;
type Suite = Table[string];

/** What the gate itself decides. @param knows whether it knows the request of the user. */
function decisionsOf(table: Table, knows = true): string[] {
  return Object.entries(table).flatMap(([suite, { definitions, policy, calls }]) => {
    using gate = new PolicyGate({ policy, tools: { [suite]: { tools: definitions } } });
    return calls.map(({ tool, args, prompt }) => {
      const userRequest = knows ? prompt : undefined;
      const { decision } = gate.evaluate({ server: suite, tool, args, userRequest });
      return decision;
    });
  });
}

/** The doors of this process: what each decides about the calls of a suite. */
const HERE = {
  'gate plan': async (suite: string, { definitions, policy, calls }: Suite) => {
    const [tools, file] = [join(tempDir(), 'tools.json'), join(tempDir(), 'policy.json')];
    writeFileSync(tools, JSON.stringify({ [suite]: { tools: definitions } }));
    writeFileSync(file, JSON.stringify(policy));
    const lines = calls.map(({ tool, args, prompt }, id) =>
      JSON.stringify({ id, query: prompt, raw: { type: 'call_tool', server: suite, tool, args } }),
    );
    const { rows } = await runCommand(gateCommand, ['plan', '--tools', tools, '--policy', file], lines);
    return rows.map(({ decision }) => (decision === 'needs_approval' ? 'require_approval' : decision));
  },
  gateClient: async (suite: string, { definitions, policy, calls }: Suite) => {
    using gate = new PolicyGate({ policy });
    let [prompt, ran] = ['', 0];
    const client = {
      listTools: async () => ({ tools: definitions }),
      callTool: async (_call: unknown) => {
        ran += 1;
        return { content: [] };
      },
    };
    const gated = gateClient(client, gate, { server: suite, context: () => ({ userRequest: prompt }) });
    const decided: string[] = [];
    for (const { tool, args, prompt: asked } of calls) {
      [prompt, ran] = [asked, 0];
      const call = gated.callTool({ name: tool, arguments: args } as never) as Promise<unknown>;
      const decision = await call.then(
        () => 'allow',
        (error: unknown) => (error instanceof PolicyDeniedError ? error.decision?.decision : undefined),
      );
      assert.equal(ran, decision === 'allow' ? 1 : 0);
      decided.push(String(decision));
    }
    return decided;
  },
  hook: async (suite: string, { policy, calls }: Suite) => {
    const dir = tempDir();
    const file = join(dir, 'policy.json');
    writeFileSync(file, JSON.stringify(policy));
    const decided: unknown[] = [];
    for (const { tool, args } of calls) {
      const event = { hook_event_name: 'PreToolUse', tool_name: `mcp__${suite}__${tool}`, tool_input: args };
      const flags = ['claude-code', '--policy', file, '--enforce'];
      // A folder for each event: the next one looks through the runs before it.
      const env = { SAFE_TRACE_DIR: join(dir, String(decided.length)) };
      const { code, rows } = await runCommand(hookCommand, flags, [JSON.stringify(event)], env);
      assert.equal(code, 0);
      const { hookSpecificOutput: answer } = rows[0] ?? {};
      const said = (answer as { permissionDecision?: string } | undefined)?.permissionDecision ?? 'allow';
      decided.push(said === 'ask' ? 'require_approval' : said);
    }
    return decided;
  },
};

/** Makes the calls of the table through a door of this process; the hook knows no request of a user. */
export async function assertSameDecisionsHere(door: keyof typeof HERE): Promise<void> {
  const table = makeTable();
  const expected = decisionsOf(table, door !== 'hook');
  const decided: unknown[] = [];
  for (const [suite, calls] of Object.entries(table)) decided.push(...(await HERE[door](suite, calls)));
  assert.deepEqual(decided, expected);
  assert.deepEqual([expected.length, new Set(expected).size], [339, 3]);
}

interface Outcome {
  readonly result?: unknown;
  readonly error?: string;
  readonly asked?: boolean;
  readonly ran: readonly unknown[];
}

function decisionIn({ result, error, asked }: Outcome): string {
  if (result !== undefined) return 'allow';
  return asked === true || error?.includes('(approval_required)') ? 'require_approval' : 'deny';
}

async function linesOf<T>(
  apps: FreshApps,
  folder: string,
  program: string,
  env: Record<string, string>,
): Promise<T[]> {
  const { code, stdout, stderr } = await apps.run(folder, program, { flags: [], env });
  assert.equal(code, 0, stderr);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

/** Makes the calls of the table through this door of `gate-doors.mjs`: each is decided as by the gate itself. */
export async function assertSameDecisions(apps: FreshApps, folder: string, door: string): Promise<void> {
  const table = makeTable();
  const file = join(folder, 'table.json');
  writeFileSync(file, JSON.stringify(table));
  const expected = decisionsOf(table);
  assert.equal(expected.length, 339);
  assert.deepEqual([...new Set(expected)].sort(), ['allow', 'deny', 'require_approval']);
  const outcomes = await linesOf<Outcome>(apps, folder, 'gate-doors.mjs', { DOOR: door, TABLE: file });
  assert.deepEqual(outcomes.map(decisionIn), expected, door);
  assert.deepEqual(
    outcomes.map(({ ran }) => ran.length),
    expected.map((decision) => (decision === 'allow' ? 1 : 0)),
    door,
  );
}

/** Holds a call for a person through this door of `gate-approvals.mjs`: it is made once, as it was approved, or never. */
export async function assertHolds(apps: FreshApps, folder: string, door: string): Promise<void> {
  const held = await linesOf<{ way: string; heldFirst: boolean; ran: unknown[] }>(
    apps,
    folder,
    'gate-approvals.mjs',
    { DOOR: door },
  );
  assert.ok(
    held.every(({ heldFirst }) => heldFirst),
    door,
  );
  const runs = Object.fromEntries(held.map(({ way, ran }) => [way, ran]));
  const asked = [{ to: 'alice', amount: 5 }];
  assert.deepEqual(runs, { approved: asked, rejected: [], changed: [], repeated: asked }, door);
}
