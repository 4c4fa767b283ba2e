/**
 * Connects to MCP servers over stdio and HTTP with bounds on all that they send, and calls their tools. It may import
 * `base`, `json` and `interaction`.
 */
export { boundTransport } from './bounded-transport.ts';
export { RecordedTimeout, readToolResult } from './call.ts';
export {
  loadServerConfig,
  parseServerConfig,
  readServerEntries,
  type ServerEntry,
} from './config.ts';
export type { HeaderSource } from './config-fields.ts';
export type { ServerConnection } from './connection.ts';
export { Deadline, withOwnSignal } from './deadline.ts';
export { findExpiry } from './http-answer.ts';
export { NeverRan, SessionExpired } from './http-refusal.ts';
export { type OpenLink, openLink, type ServerLink } from './link.ts';
export { MESSAGE_KINDS, type MessageLimits } from './message-meter.ts';
export { normalResult } from './normal-result.ts';
export { type ConnectServersOptions, connectServers, ServerPool, type ServerTool } from './pool.ts';
export { startTree } from './process-tree.ts';
export { RequestsAtOnce } from './requests-at-once.ts';
export { isMissingSchema } from './server-tools.ts';
export {
  type McpSession,
  type RequestControls,
  requestToolCall,
  requestToolPage,
  withRawResults,
} from './session.ts';
export { LIST_KINDS, readToolList, ToolListError, type ToolListLimits } from './tool-list.ts';

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
export { DEFAULT_CONNECT_TIMEOUT_MS, notReadyWithin, readReason, unavailable } from './unavailable.ts';
