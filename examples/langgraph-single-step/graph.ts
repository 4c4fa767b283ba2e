/**
 * The single-step pipeline of `PolicyHost` as a state machine on LangGraph, from the gate's own functions:
 *
 *   input_gate -> list_tools -> planner -> plan_gate -> guarded_call -> summarizer
 *
 * Every edge leads forward, so a run makes at most one tool call and ends after at most six steps. A node that sets
 * `outcome` ends the run; no node can skip an earlier one.
 */
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import {
  type AskResult,
  asksForSummary,
  type CallToolPlan,
  type CatalogTool,
  discoverTools,
  gateOf,
  guardedCall,
  type JsonObject,
  type Planner,
  PolicyDeniedError,
  type PolicyGate,
  type PolicyServer,
  parsePlan,
  parseSummary,
  planMessages,
  type ReasonCode,
  redactText,
  summaryMessages,
} from 'mcp-observatory/policy';

export interface SingleStepParts {
  readonly gate: PolicyGate;
  readonly planner: Planner;
  readonly servers: Readonly<Record<string, PolicyServer>>;
}

const State = Annotation.Root({
  query: Annotation<string>,
  tools: Annotation<readonly CatalogTool[]>,
  raw: Annotation<string>,
  plan: Annotation<CallToolPlan>,
  result: Annotation<JsonObject>,
  outcome: Annotation<AskResult>,
});
type Step = Partial<typeof State.State>;

/** Builds the graph. The `outcome` of `invoke({ query })` equals the result of `PolicyHost.askOnce(query)`. */
export function singleStepGraph({ gate, planner, servers }: SingleStepParts) {
  const unlessDone = (next: 'list_tools' | 'guarded_call' | 'summarizer') => (state: typeof State.State) =>
    state.outcome === undefined ? next : END;

  return new StateGraph(State)
    .addNode('input_gate', ({ query }): Step => {
      const verdict = gate.checkInput(query);
      if (verdict.allowed) return {};
      return { outcome: blocked(query, verdict.reasonCode ?? 'input_blocked', verdict.message) };
    })
    .addNode('list_tools', async (): Promise<Step> => {
      return { tools: await discoverTools(gate, Object.entries(servers)) };
    })
    .addNode('planner', async ({ query, tools }): Promise<Step> => {
      return { raw: await planner.plan(planMessages(query, tools)) };
    })
    .addNode('plan_gate', ({ query, raw }): Step => {
      const parsed = parsePlan(raw);
      if ('refused' in parsed)
        return { outcome: blocked(query, parsed.refused.reasonCode, parsed.refused.message) };
      const { plan } = parsed;
      if (plan.type === 'call_tool') return { plan };
      return { outcome: { ...ask(query), type: 'final_answer', answer: plan.answer, needsMoreInfo: true } };
    })
    .addNode('guarded_call', async ({ query, plan }): Promise<Step> => {
      const { server, tool, args } = plan;
      const connection = servers[server];
      const call = { server, tool, args, userRequest: query, runId: '' };
      try {
        const { verdict, decision } = await guardedCall(call, () => invoke(connection, tool, args), {
          gate,
          refresh: async () => {
            if (connection !== undefined) gate.setTools(server, await connection.listTools());
          },
        });
        if (!verdict.accepted)
          return { outcome: { ...blocked(query, verdict.reasonCode, verdict.message), decision, call } };
        const result = { server, tool, args, result: verdict.value };
        if (asksForSummary(query)) return { result: verdict.value };
        return { outcome: { ...ask(query), ...result, type: 'tool_result' } };
      } catch (error) {
        if (!(error instanceof PolicyDeniedError)) throw error;
        const { reasonCode, message, decision } = error;
        return { outcome: { ...blocked(query, reasonCode, message), decision, call } };
      }
    })
    .addNode('summarizer', async ({ query, plan, result }): Promise<Step> => {
      const { server, tool, args } = plan;
      const base = { ...ask(query), server, tool, args, result };
      const summary = parseSummary(await planner.plan(summaryMessages(result)));
      const verdict = gate.checkSummary(result, summary, { args, request: query });
      if (verdict.accepted)
        return { outcome: { ...base, type: 'tool_result_with_summary', summary: verdict.summary } };
      return { outcome: { ...base, type: 'tool_result', summaryRefused: verdict.reasonCode } };
    })
    .addEdge(START, 'input_gate')
    .addConditionalEdges('input_gate', unlessDone('list_tools'), ['list_tools', END])
    .addEdge('list_tools', 'planner')
    .addEdge('planner', 'plan_gate')
    .addConditionalEdges('plan_gate', unlessDone('guarded_call'), ['guarded_call', END])
    .addConditionalEdges('guarded_call', unlessDone('summarizer'), ['summarizer', END])
    .addEdge('summarizer', END)
    .compile();
}

/** Fields of every result; this graph writes no audit trail, so runs have no id. */
function ask(query: string) {
  return { query, runId: '' };
}

function blocked(query: string, reasonCode: ReasonCode, message: string): AskResult & { type: 'blocked' } {
  return {
    ...ask(query),
    type: 'blocked',
    gate: gateOf(reasonCode),
    reasonCode,
    message: redactText(message),
  };
}

async function invoke(server: PolicyServer | undefined, tool: string, args: JsonObject): Promise<unknown> {
  if (server === undefined) throw new Error('The server of the plan is not connected');
  return await server.callTool(tool, args);
}
