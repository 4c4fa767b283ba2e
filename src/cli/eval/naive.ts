/**
 * A host without gates, for comparison: it shows the planner every tool, extracts a plan from the output, makes the
 * call and returns the result.
 */

import { isObject, readObject } from '../../json/index.ts';
import type { Planner, PolicyServer } from '../../policy/index.ts';

/** Asks once, without a gate. @returns the outcome in one word. */
export async function naiveAskOnce(
  query: string,
  planner: Planner,
  servers: ReadonlyMap<string, PolicyServer>,
): Promise<'tool_result' | 'final_answer' | 'error'> {
  const tools: unknown[] = [];
  for (const [server, connection] of servers) {
    for (const { name, description, inputSchema } of await connection.listTools())
      tools.push({ server, tool: name, description, inputSchema });
  }
  const answer = await planner.plan([
    { role: 'system', content: `Choose a tool. Answer with JSON.\n\nTOOLS\n${JSON.stringify(tools)}` },
    { role: 'user', content: query },
  ]);
  try {
    const plan: unknown = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1));
    if (!isObject(plan) || plan.type !== 'call_tool') return 'final_answer';
    const server = servers.get(String(plan.server));
    if (server === undefined) return 'error';
    await server.callTool(String(plan.tool), readObject(plan.args));
    return 'tool_result';
  } catch {
    return 'error';
  }
}
