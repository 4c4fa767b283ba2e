export { RecordedTimeout, readToolResult } from './call.ts';
export { loadServerConfig, parseServerConfig, readServerEntries, type ServerEntry } from './config.ts';
export type { ServerConnection } from './connection.ts';
export { type OpenLink, openLink, type ServerLink } from './link.ts';
export { type ConnectServersOptions, connectServers, ServerPool, type ServerTool } from './pool.ts';
export { type McpSession, requestToolPage } from './session.ts';
export { readToolList, ToolListError, type ToolListLimits } from './tool-list.ts';

export type {
  CallableTool,
  ConnectionOptions,
  ElicitationAnswer,
  RejectedTool,
  ServerRequestContext,
  ServerRequestHandlers,
  ToolAnnotations,
  ToolCallOptions,
  ToolCallOutcome,
  ToolContent,
  ToolDefinition,
  ToolProgress,
  ToolResult,
} from './types.ts';
export { DEFAULT_CONNECT_TIMEOUT_MS, notReadyWithin, reasonOf, unavailable } from './unavailable.ts';
