export { discoverTools } from './discover-tools.ts';
export { type AskOptions, type AskResult, PolicyHost, type PolicyHostOptions } from './host.ts';
export {
  asksForSummary,
  type Planner,
  type PlannerMessage,
  parseSummary,
  planMessages,
  summaryMessages,
} from './prompts.ts';
export { connectPolicyServer, type PolicyServer, type PolicyServerConfig } from './server.ts';
export { askResultToWire } from './wire.ts';
