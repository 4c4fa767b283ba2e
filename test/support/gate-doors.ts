/** One policy at every door: the calls of one table get the same decisions through each framework. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyGate } from '../../src/policy/index.ts';
import { readRows } from './data.ts';
import type { FreshApps } from './fresh-app.ts';

interface Task {
  readonly kind: string;
  readonly suite: string;
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly properties?: object };
  readonly prompt: string;
  readonly ground_truth_calls: readonly { readonly tool: string; readonly args: Record<string, unknown> }[];
}

/** Arguments that name who gets something. */
const RECIPIENTS = ['recipients', 'recipient', 'participants', 'email', 'user_email', 'url', 'file_id'];

/** By suite its tools, the calls of its tasks, and a policy that allows, asks about and denies some of them. */
function makeTable() {
  const rows = readRows<Task>('policy/agentdojo_v1_2_tasks.jsonl');
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

/** What the gate itself decides, as `gate plan` does. */
function decisionsOf(table: ReturnType<typeof makeTable>): string[] {
  return Object.entries(table).flatMap(([suite, { definitions, policy, calls }]) => {
    using gate = new PolicyGate({ policy, tools: { [suite]: { tools: definitions } } });
    return calls.map(({ tool, args, prompt }) => {
      const { decision } = gate.evaluate({ server: suite, tool, args, userRequest: prompt });
      return decision;
    });
  });
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

/** Makes the calls of the table through these doors of `gate-doors.mjs`: each is decided as by the gate itself. */
export async function assertSameDecisions(
  apps: FreshApps,
  folder: string,
  doors: readonly string[],
): Promise<void> {
  const table = makeTable();
  const file = join(folder, 'table.json');
  writeFileSync(file, JSON.stringify(table));
  const expected = decisionsOf(table);
  assert.equal(expected.length, 339);
  assert.deepEqual([...new Set(expected)].sort(), ['allow', 'deny', 'require_approval']);
  for (const door of doors) {
    const outcomes = await linesOf<Outcome>(apps, folder, 'gate-doors.mjs', { DOOR: door, TABLE: file });
    assert.deepEqual(outcomes.map(decisionIn), expected, door);
    assert.deepEqual(
      outcomes.map(({ ran }) => ran.length),
      expected.map((decision) => (decision === 'allow' ? 1 : 0)),
      door,
    );
  }
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
