export { type AgentSpans, readAgentSpans } from './read.ts';
