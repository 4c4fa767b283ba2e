/** Which tools of a server the user wants: the lists that clients have for it in their configs. */
import { matchesParts } from '../base/index.ts';
import { isObject, type JsonObject, toText } from '../json/index.ts';

export interface ToolFilter {
  /** Tells by its name whether a tool is wanted. */
  readonly wants: (tool: string) => boolean;
  /** The names in the lists that none of these tools has. */
  readonly unused: (tools: readonly string[]) => readonly string[];
}

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
 * Reads the lists of an entry. `*` in a name stands for any characters. In place of a list, an object names each tool
 * with `false`, or with an object whose `enabled` is false, for one that is not wanted.
 * @throws what `refuse` makes of a member that is neither.
 */
export function readToolFilter(entry: JsonObject, refuse: (member: string) => Error): ToolFilter | undefined {
  const lists: { kind: Kind; names: readonly string[] }[] = [];
  for (const [member, value] of Object.entries(entry)) {
    const kind = LISTS.get(plainName(member));
    if (kind === undefined || value === undefined || value === null) continue;
    const names = namesIn(value);
    if (names !== undefined) lists.push({ kind, names });
    else if (isObject(value)) lists.push({ kind: 'except', names: switchedOff(value) });
    else throw refuse(member);
  }
  if (lists.length === 0) return undefined;
  return {
    wants: (tool) =>
      lists.every(({ kind, names }) => names.some((name) => isNamed(tool, name)) === (kind === 'only')),
    unused: (tools) =>
      lists.flatMap(({ names }) => names.filter((name) => !tools.some((tool) => isNamed(tool, name)))),
  };
}

function isNamed(tool: string, name: string): boolean {
  return matchesParts(tool, name.split('*'));
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
