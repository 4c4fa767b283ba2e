export type JsonRpcId = string | number;

/** One JSON-RPC 2.0 message, request, response or notification, as far as this folder looks into it. */
export interface JsonRpcMessage {
  readonly jsonrpc: '2.0';
  readonly id?: JsonRpcId | undefined;
  readonly method?: string | undefined;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
}

export interface TransportSendOptions {
  readonly onresumptiontoken?: ((token: string) => void) | undefined;
}

/**
 * The part of a transport that the SDKs of both generations and this folder share. The SDKs set the callbacks when a
 * client connects, keeping and calling first what was there before.
 */
export interface Transport {
  start(): Promise<void>;
  send(message: JsonRpcMessage, options?: TransportSendOptions): Promise<void>;
  close(): Promise<void>;
  onmessage?: ((message: JsonRpcMessage, extra?: unknown) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}
