export { boundTransport } from './bounded-transport.ts';
export { RecordedTimeout, readToolResult } from './call.ts';
export {
  type HeaderSource,
  loadServerConfig,
  parseServerConfig,
  readServerEntries,
  type ServerEntry,
} from './config.ts';
export type { ServerConnection } from './connection.ts';
export { Deadline, withOwnSignal } from './deadline.ts';
export { SessionExpired } from './http-refusal.ts';
export { type OpenLink, openLink, type ServerLink } from './link.ts';
export type { MessageLimits } from './message-meter.ts';
export { LIST_KINDS, MESSAGE_KINDS } from './option-kinds.ts';
export { type ConnectServersOptions, connectServers, ServerPool, type ServerTool } from './pool.ts';
export { RequestsAtOnce } from './requests-at-once.ts';
export { type McpSession, type RequestControls, requestToolCall, requestToolPage } from './session.ts';
export { readToolList, ToolListError, type ToolListLimits } from './tool-list.ts';

export type {
  CallableTool,
  ConnectionOptions,
  RejectedTool,
  ServerRequestGuard,
  ServerRequestHandlers,
  ToolCallOptions,
  ToolCallOutcome,
  ToolContent,
  ToolDefinition,
  ToolProgress,
  ToolResult,
} from './types.ts';
export { DEFAULT_CONNECT_TIMEOUT_MS, notReadyWithin, reasonOf, unavailable } from './unavailable.ts';
