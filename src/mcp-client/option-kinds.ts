/** Kinds of the options of connections, for who takes them. */
import { kinds, type OptionKinds } from '../base/index.ts';
import type { MessageLimits } from './message-meter.ts';
import type { ConnectServersOptions } from './pool.ts';
import type { ToolListLimits } from './tool-list.ts';
import type { ConnectionOptions } from './types.ts';

export const LIST_KINDS: OptionKinds<ToolListLimits> = {
  maxToolPages: kinds.number,
  maxTools: kinds.number,
  maxToolListBytes: kinds.number,
  toolListTimeoutMs: kinds.number,
};

export const MESSAGE_KINDS: OptionKinds<MessageLimits> = {
  maxMessageBytes: kinds.number,
  maxMessageValues: kinds.number,
};

const CONNECTION_KINDS: OptionKinds<ConnectionOptions> = {
  ...LIST_KINDS,
  ...MESSAGE_KINDS,
  connectTimeoutMs: kinds.number,
  closeTimeoutMs: kinds.number,
  maxReconnects: kinds.number,
  handlers: kinds.object,
  guard: kinds.function,
};

export const CONNECT_SERVERS_KINDS: OptionKinds<ConnectServersOptions> = {
  ...CONNECTION_KINDS,
  signal: { expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal },
  openLink: kinds.function,
  onToolsChanged: kinds.function,
  expandVariables: kinds.boolean,
  env: kinds.object,
};
