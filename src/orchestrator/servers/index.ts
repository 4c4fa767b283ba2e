export {
  loadServerConfig,
  type ParseConfigOptions,
  type ProtocolChoice,
  parseServerConfig,
  type RemoteServerConfig,
  type ServerConfig,
  type StdioServerConfig,
} from './config.ts';
export type { ServerConnection, ServerState } from './connection.ts';
export type { ConnectionOptions } from './options.ts';
export { type ConnectServersOptions, connectServers, ServerPool, type ServerTool } from './pool.ts';
export { playedLink, recordingLink } from './recorded-link.ts';
export type {
  ElicitationAnswer,
  JsonObject,
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
