import { importPeer } from '../base/index.ts';
import type { Database } from '../postgres/index.ts';
import { type McpSdk, type StoreMcp, storeMcp } from '../ui/index.ts';
import { type CommandIo, fetchedModule } from './command-line/index.ts';

export const MCP_SERVER_SDK = '@modelcontextprotocol/server';

/** Loads the official SDK for servers, which is fetched the first time where it is not installed. */
export async function loadMcpSdk<T = McpSdk>(io: CommandIo, path = ''): Promise<T> {
  const at = await fetchedModule(MCP_SERVER_SDK, io, path);
  return importPeer<T>(at ?? `${MCP_SERVER_SDK}${path}`);
}

/** The store as an MCP endpoint; the SDK is loaded by the first request. */
export function lazyStoreMcp(io: CommandIo, db: Database): StoreMcp {
  let loading: Promise<StoreMcp> | undefined;
  const loaded = (): Promise<StoreMcp> => {
    loading ??= loadMcpSdk(io).then((sdk) => storeMcp(sdk, db));
    // What failed is tried again by the next request.
    loading.catch(() => {
      loading = undefined;
    });
    return loading;
  };
  return {
    fetch: async (request) => (await loaded()).fetch(request),
    close: async () => (await loading?.catch(() => undefined))?.close(),
  };
}
