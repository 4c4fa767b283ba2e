/**
 * Which MCP server listed which tools in this process, by the name the server gives itself. On `globalThis` under a
 * registered symbol, so that two installed copies of this package share it.
 */
import { isObject, readList, stringAt } from '../json/index.ts';

export interface ListedTool {
  /** The beginning of it. */
  readonly description: string;
  /** The server gave itself the name, rather than the configuration. */
  readonly isOwnName: boolean;
}

/** Servers by the name of a tool. */
type ListedTools = Map<string, Map<string, ListedTool>>;

const KEY = Symbol.for('mcp-observatory.listed-tools.v1');
const MAX_TOOLS = 8_192;
/** Of one name. */
const MAX_SERVERS = 32;
const MAX_TEXT = 200;

export function listedTools(): ReadonlyMap<string, ReadonlyMap<string, ListedTool>> {
  return tools();
}

/** Remembers what `tools/list` gave. Tools beyond 8,192 are not remembered. */
export function noteListedTools(server: string, list: unknown, isOwnName = true): void {
  const known = tools();
  for (const tool of readList(list).slice(0, MAX_TOOLS)) {
    const name = isObject(tool) ? stringAt(tool, 'name')?.slice(0, MAX_TEXT) : undefined;
    if (name === undefined) continue;
    let servers = known.get(name);
    if (servers === undefined) {
      if (known.size >= MAX_TOOLS) return;
      servers = new Map();
      known.set(name, servers);
    }
    // A server may give itself the name under which another one is configured.
    if (isOwnName && servers.get(server)?.isOwnName === false) continue;
    if (servers.size < MAX_SERVERS || servers.has(server))
      servers.set(server, {
        description: (stringAt(tool, 'description') ?? '').slice(0, MAX_TEXT),
        isOwnName,
      });
  }
}

function tools(): ListedTools {
  const holder = globalThis as { [KEY]?: ListedTools };
  holder[KEY] ??= new Map();
  return holder[KEY];
}
