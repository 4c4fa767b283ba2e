export { type AgentSpans, readAgentEvents, readAgentSpans } from './read.ts';
