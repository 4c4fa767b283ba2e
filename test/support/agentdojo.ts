/** The tasks of AgentDojo and what their calls gave. */
import type { JsonObject } from '../../src/json/index.ts';
import { readRows } from './data.ts';

export interface Call {
  tool: string;
  args: JsonObject;
}

export interface Task {
  kind: string;
  suite: string;
  id: string;
  name: string;
  description: string;
  inputSchema: { properties?: object };
  prompt: string;
  ground_truth_calls: Call[];
  malicious_calls: Call[];
}

export const TASKS = 'policy/agentdojo_v1_2_tasks.jsonl';

interface ToolOutput {
  suite: string;
  user_task: string;
  call: number;
  tool: string;
  args: object;
  label: 'clean' | 'injected';
  output?: unknown;
}

/** What calls of tasks gave, as MCP has it. Equal calls of a suite were recorded once, and some only with an injection. */
export function readResults(): (task: Task, call: number, label: ToolOutput['label']) => object {
  const outputs = new Map<string, unknown>();
  const keep = (key: string, output: unknown) => void (outputs.has(key) || outputs.set(key, output));
  for (const row of readRows<ToolOutput>('policy/agentdojo_v1_2_tool_outputs.jsonl')) {
    keep(`${row.label} ${row.suite} ${row.user_task} ${row.call}`, row.output);
    keep(`${row.label} ${row.suite} ${row.tool} ${JSON.stringify(row.args)}`, row.output);
  }
  return (task, call, label) => {
    const { tool, args } = task.ground_truth_calls[call] as Call;
    const names = [
      `${label} ${task.suite} ${task.id} ${call}`,
      ...['clean', 'injected'].map((kind) => `${kind} ${task.suite} ${tool} ${JSON.stringify(args)}`),
    ];
    const output = outputs.get(names.find((name) => outputs.has(name)) ?? '') ?? null;
    return {
      content: [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }],
    };
  };
}
