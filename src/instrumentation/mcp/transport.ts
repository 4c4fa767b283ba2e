/**
 * What a transport is, told by its shape first and its class name second: bundlers rename classes, and other people's
 * transports take the names of the SDK's.
 */
import { isIPv4 } from 'node:net';
import { semconv } from '../../base/index.ts';
import type { McpPeer } from './types.ts';

export interface TransportFacts {
  readonly peer: McpPeer;
  /** `network.*` attributes: the same on spans and metrics, on both sides. */
  readonly network: Readonly<Record<string, string>>;
}

const NETWORK: Readonly<Record<McpPeer['transport'], Readonly<Record<string, string>>>> = {
  stdio: { [semconv.ATTR_NETWORK_TRANSPORT]: 'pipe' },
  http: { [semconv.ATTR_NETWORK_TRANSPORT]: 'tcp', [semconv.ATTR_NETWORK_PROTOCOL_NAME]: 'http' },
  sse: { [semconv.ATTR_NETWORK_TRANSPORT]: 'tcp', [semconv.ATTR_NETWORK_PROTOCOL_NAME]: 'http' },
  websocket: { [semconv.ATTR_NETWORK_TRANSPORT]: 'tcp', [semconv.ATTR_NETWORK_PROTOCOL_NAME]: 'websocket' },
  'in-memory': {},
  unknown: {},
};

export function transportFacts(transport: object): TransportFacts {
  // v2's `serveStdio` puts a channel between each server and the pipe they share.
  const wire = (transport as { readonly _wire?: unknown })._wire;
  if (typeof wire === 'object' && wire !== null) return transportFacts(wire);
  const kind = toKind(transport);
  const url = (transport as { readonly _url?: unknown })._url;
  const address: Address = url instanceof URL && kind !== 'stdio' ? toAddress(url) : {};
  const local =
    kind === 'stdio' ||
    kind === 'in-memory' ||
    (address.address !== undefined && isLoopback(address.address));
  return { peer: { transport: kind, ...address, local }, network: NETWORK[kind] };
}

function toKind(transport: object): McpPeer['transport'] {
  const name = transport.constructor?.name ?? '';
  const url = (transport as { readonly _url?: unknown })._url;
  if (url instanceof URL) {
    if (url.protocol === 'ws:' || url.protocol === 'wss:') return 'websocket';
    return name.startsWith('SSE') || '_eventSource' in transport ? 'sse' : 'http';
  }
  if ('_otherTransport' in transport || name === 'InMemoryTransport') return 'in-memory';
  if ('_serverParams' in transport || ('_stdin' in transport && '_stdout' in transport)) return 'stdio';
  if (name === 'StdioClientTransport' || name === 'StdioServerTransport') return 'stdio';
  if ('handlePostMessage' in transport || name === 'SSEServerTransport') return 'sse';
  if ('handleRequest' in transport || 'handleMessage' in transport) return 'http';
  return 'unknown';
}

interface Address {
  readonly address?: string;
  readonly port?: number;
}

function toAddress(url: URL): Address {
  const address = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : Number(url.port);
  return port === undefined ? { address } : { address, port };
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'ws:': 80,
  'wss:': 443,
};

/** Addresses alone, for `127.example.com` is a name like any other; `::ffff:7fxx:` is 127.x as a URL writes it. */
function isLoopback(address: string): boolean {
  return (
    address === 'localhost' ||
    address.endsWith('.localhost') ||
    address === '::1' ||
    (address.startsWith('127.') && isIPv4(address)) ||
    /^::ffff:7f[\da-f]{2}:/.test(address)
  );
}
