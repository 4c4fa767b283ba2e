/** The members of a server's entry in a config: those that are read, those that change nothing here, and all others. */
import { misspelled, warnVisibly } from '../base/index.ts';
import { type JsonObject, stringAt } from '../json/index.ts';
import { type FieldReader, show } from './config-fields.ts';
import { isToolList, type ToolFilter } from './tool-filter.ts';

const READ = [
  'command',
  'args',
  'env',
  'environment',
  'envFile',
  'cwd',
  'url',
  'httpUrl',
  'serverUrl',
  'headers',
  'type',
  'transport',
  'protocol',
  'disabled',
  'enabled',
  'isActive',
  'connect_timeout',
  'startup_timeout_sec',
  'startup_timeout_ms',
];

/** What describes a server, and which calls its client makes without asking: nothing of it has a meaning here. */
const WITHOUT_MEANING: ReadonlySet<string> = new Set(
  'name title description note notes comment icon version author homepage tags source gallery autoApprove alwaysAllow trust'.split(
    ' ',
  ),
);

/** Names of members that were told of, each once in a process. */
const told = new Set<string>();
const MAX_TOLD = 100;

/** @throws ObservatoryError `INVALID_SERVER_CONFIG` for a member that is a known one misspelled, or chooses tools. */
export function nameUnknownMembers(read: FieldReader, entry: JsonObject): void {
  for (const [member, value] of Object.entries(entry)) {
    if (READ.includes(member) || WITHOUT_MEANING.has(member) || /^[_$/#]/.test(member)) continue;
    const isList = isToolList(member, value);
    if (isList === true) continue;
    if (isList === undefined) {
      throw read.error(`has "${member}", which is not known here; use "includeTools" and "excludeTools"`);
    }
    const meant = misspelled(member, READ);
    if (meant !== undefined)
      throw read.error(`has "${member}", which is not known; did you mean "${meant}"?`);
    warn(`Server "${read.server}" has "${member}", which is not followed${adviceOn(member)}.`);
  }
}

function adviceOn(member: string): string {
  return member === 'timeout' ? ': clients differ in its unit; use "connect_timeout", in seconds' : '';
}

const MAX_UNUSED = 5;

/** The tools that the lists of an entry leave. A name in them that is no tool may leave another one in unseen. */
export function wantedTools(
  server: string,
  filter: ToolFilter | undefined,
  listed: readonly unknown[],
): readonly unknown[] {
  if (filter === undefined) return listed;
  const names = listed.map((tool) => stringAt(tool, 'name') ?? '');
  const unused = names.length === 0 ? [] : filter.unused(names).slice(0, MAX_UNUSED);
  if (unused.length > 0)
    warn(`Server "${server}" has no tool ${unused.map(show).join(' or ')}, which its config lists.`);
  return listed.filter((_, index) => filter.wants(names[index] ?? ''));
}

/** Says something once in a process. */
export function warn(message: string): void {
  if (told.has(message) || told.size >= MAX_TOLD) return;
  told.add(message);
  warnVisibly(`mcp-observatory: ${message}`);
}
