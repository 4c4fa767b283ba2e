export { McpInstrumentation } from './instrumentation.ts';
export { instrumentMcpClient, instrumentMcpServer, type McpModule, watchOwnStdio } from './manual.ts';
export type { McpInstrumentationConfig, McpPeer, McpPropagation, McpSide } from './types.ts';
