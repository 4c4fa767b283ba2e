export { type AskOptions, type AskResult, PolicyHost, type PolicyHostOptions } from './host.ts';
export {
  asksForSummary,
  type Planner,
  type PlannerMessage,
  parseSummary,
  planMessages,
  summaryMessages,
} from './prompts.ts';
export {
  connectPolicyServer,
  connectPolicyServers,
  discoverTools,
  type PolicyServer,
  ToolCallError,
  toRawResult,
} from './servers.ts';
export { askResultToWire } from './wire.ts';
