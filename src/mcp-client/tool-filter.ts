/** Which tools of a server the user wants: the lists that clients have for it in their configs. */
import { isObject, type JsonObject, toText } from '../json/index.ts';

/** Tells by its name whether a tool is wanted. */
export type ToolFilter = (tool: string) => boolean;

type Kind = 'only' | 'except';

/** Members of a server's entry, without regard to case and underscores. */
const LISTS: ReadonlyMap<string, Kind> = new Map([
  // Gemini CLI: docs/tools/mcp-server.md
  ['includetools', 'only'],
  ['excludetools', 'except'],
  // Codex: docs/config.md
  ['enabledtools', 'only'],
  ['disabledtools', 'except'],
  // Anthropic's and OpenAI's MCP connectors
  ['allowedtools', 'only'],
  ['disallowedtools', 'except'],
  // GitHub Copilot: "Extending Copilot coding agent with MCP"
  ['tools', 'only'],
]);

const MAX_NAMES = 10_000;

/** @returns whether a member is such a list; undefined for one that looks like a list of another form. */
export function isToolList(member: string, value: unknown): boolean | undefined {
  const plain = plainName(member);
  if (LISTS.has(plain)) return true;
  const isChoice = plain.includes('tool') && (Array.isArray(value) || isObject(value));
  // Which calls need no confirmation says nothing about which tools there are.
  return isChoice && !/approve|alwaysallow|trust|meta/.test(plain) ? undefined : false;
}

/**
 * Reads the lists of an entry. A name may end with `*`. In place of a list, an object names each tool with `false`, or
 * with an object whose `enabled` is false, for one that is not wanted.
 * @throws what `refuse` makes of a member that is neither.
 */
export function readToolFilter(entry: JsonObject, refuse: (member: string) => Error): ToolFilter | undefined {
  const filters: ToolFilter[] = [];
  for (const [member, value] of Object.entries(entry)) {
    const kind = LISTS.get(plainName(member));
    if (kind === undefined || value === undefined || value === null) continue;
    const names = namesIn(value);
    if (names !== undefined) filters.push(matching(names, kind));
    else if (isObject(value)) filters.push(matching(switchedOff(value), 'except'));
    else throw refuse(member);
  }
  return filters.length === 0 ? undefined : (tool) => filters.every((filter) => filter(tool));
}

function plainName(member: string): string {
  return member.toLowerCase().replaceAll('_', '');
}

function namesIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_NAMES) return undefined;
  const names = value.map(toText).filter((name) => name !== undefined);
  return names.length === value.length ? names : undefined;
}

function switchedOff(value: JsonObject): readonly string[] {
  return Object.keys(value).filter((name) => {
    const setting = value[name];
    return setting === false || (isObject(setting) && setting.enabled === false);
  });
}

function matching(names: readonly string[], kind: Kind): ToolFilter {
  const exact = new Set(names);
  const beginnings = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (tool) => {
    const isNamed = exact.has(tool) || beginnings.some((beginning) => tool.startsWith(beginning));
    return isNamed === (kind === 'only');
  };
}
