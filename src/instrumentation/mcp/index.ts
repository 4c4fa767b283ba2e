export { McpInstrumentation } from './instrumentation.ts';
export { instrumentMcpClient, instrumentMcpServer, type McpModule, watchOwnWires } from './manual.ts';
export type { McpInstrumentationConfig, McpPeer, McpPropagation, McpSide } from './types.ts';
