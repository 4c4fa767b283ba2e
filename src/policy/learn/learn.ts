/** The tightest policy that allows what was recorded. */
import { isObject } from '../../json/index.ts';
import type { PolicyDocument, RuleDocument } from '../policy-file.ts';
import type { ArgumentSource, SourceDocument } from '../sources/index.ts';
import type { ToolsByServer } from '../tool-definition.ts';
import { decideRecorded, type RecordedCall } from './recorded.ts';
import { learnValue } from './values.ts';

export interface LearnOptions {
  /** What the values of an argument share, and where they came from, instead of the values. @defaultValue false */
  readonly isWide?: boolean | undefined;
  /** The definitions of the tools. @defaultValue those that were recorded, else any arguments are taken */
  readonly tools?: ToolsByServer | undefined;
}

export interface LearnedPolicy {
  readonly policy: PolicyDocument;
  /** What each rule allows, in words. */
  readonly words: readonly { readonly ruleId: string; readonly text: string }[];
  /** Calls that no policy allows, such as those with arguments that are no JSON. */
  readonly left: readonly { readonly call: RecordedCall; readonly why: string }[];
}

/** Most fields that the values of an argument may have come from to be learned as its sources. */
const MAX_FIELDS = 6;

/** Learns from the calls that were made; what was denied teaches nothing. */
export async function learnPolicy(
  recorded: readonly RecordedCall[],
  options: LearnOptions = {},
): Promise<LearnedPolicy> {
  const calls = recorded.filter(({ wasMade }) => wasMade !== false);
  const isWide = options.isWide === true;
  const found: Found = isWide ? await findSources(calls, options.tools) : new Map();
  const words: { ruleId: string; text: string }[] = [];
  const rules = [...groupByTool(calls)].map(([ruleId, group]) => {
    const { rule, text } = learnRule(ruleId, group, isWide, found);
    words.push({ ruleId, text });
    return rule;
  });
  // Calls of one name were made at several servers.
  const tools = new Set(rules.map(({ server, tool }) => JSON.stringify([server, tool])));
  const isShared = new Set(rules.map(({ tool }) => tool)).size < tools.size;
  const policy: PolicyDocument = { version: 1, ...(isShared ? { duplicate_names: 'allow' } : {}), rules };
  const decided = rules.length === 0 ? [] : await decideRecorded(calls, policy, options.tools);
  const left = decided
    .filter(({ decision }) => decision.decision !== 'allow')
    .map(({ call, decision }) => ({ call, why: decision.message }));
  return { policy, words, left };
}

/** What a shell runs is learned by program. A name with `*` would be a pattern in a rule: no rule is learned from it. */
function groupByTool(calls: readonly RecordedCall[]): ReadonlyMap<string, readonly RecordedCall[]> {
  const groups = new Map<string, RecordedCall[]>();
  for (const call of calls) {
    if (!isObject(call.args) || call.tool.includes('*')) continue;
    const { program } = call.server === 'shell' ? call.args : {};
    const id = `${call.server}/${call.tool}${typeof program === 'string' ? ` ${program}` : ''}`.slice(0, 256);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, [call]);
    else group.push(call);
  }
  return groups;
}

type Found = ReadonlyMap<RecordedCall, readonly ArgumentSource[]>;

function learnRule(
  id: string,
  calls: readonly RecordedCall[],
  isWide: boolean,
  found: Found,
): { rule: RuleDocument; text: string } {
  const [{ server, tool } = { server: '', tool: '' }] = calls;
  const names = [...new Set(calls.flatMap(({ args }) => Object.keys(args)))];
  const required = names.filter((name) => calls.every(({ args }) => Object.hasOwn(args, name)));
  const sources = isWide ? names.flatMap((name) => learnSource(name, calls, found) ?? []) : [];
  const said: string[] = [];
  const args: Record<string, object> = {};
  for (const name of names) {
    const values = calls.filter((call) => Object.hasOwn(call.args, name)).map((call) => call.args[name]);
    const source = sources.find(({ arg }) => arg === name);
    const learned = learnValue(values, source !== undefined ? 'traced' : isWide ? 'shared' : 'listed');
    Object.defineProperty(args, name, { value: learned.schema, enumerable: true });
    const from = source === undefined ? '' : ` and comes from ${source.from?.map(formatField).join(' or ')}`;
    said.push(`${name} ${learned.words}${from}${required.includes(name) ? '' : ', or is not given'}`);
  }
  const text =
    names.length === 0
      ? `${server}/${tool} without arguments`
      : `${server}/${tool} where ${said.join('; ')}; and nothing else is given`;
  const rule: RuleDocument = {
    id,
    description: text.slice(0, 2_000),
    effect: 'allow',
    server,
    tool,
    ...(names.length === 0 ? {} : { args }),
    ...(required.length === 0 ? {} : { required }),
    only_args: true,
    ...(sources.length === 0 ? {} : { sources }),
  };
  return { rule, text };
}

/** Where the values of an argument came from in every call, if that is known of all of them. */
function learnSource(name: string, calls: readonly RecordedCall[], found: Found): SourceDocument | undefined {
  const from = new Map<string, NonNullable<SourceDocument['from']>[number]>();
  for (const call of calls) {
    for (const { argument, source, server = '', tool = '', field = '' } of found.get(call) ?? []) {
      if (argument.replace(/[.[].*$/, '') !== name) continue;
      if (source === 'prompt') from.set(source, source);
      else if (source !== 'result') return undefined;
      else {
        const plain = field.replace(/\.?\*.*$/, '');
        from.set(JSON.stringify([server, tool, plain]), { server, tool, field: plain });
      }
    }
  }
  if (from.size === 0 || from.size > MAX_FIELDS) return undefined;
  return { arg: name, from: [...from.values()].map(toShort) };
}

function formatField(field: NonNullable<SourceDocument['from']>[number]): string {
  return typeof field === 'string' ? field : `${field.server}/${field.tool} ${field.field ?? ''}`.trim();
}

/** `server.tool.field`, where the names have no dots. */
function toShort(
  field: NonNullable<SourceDocument['from']>[number],
): NonNullable<SourceDocument['from']>[number] {
  if (typeof field === 'string') return field;
  const { server, tool, field: path = '' } = field;
  if (/[.[\]]/.test(server + tool)) return field;
  return `${server}.${tool}${path === '' || path.startsWith('[') ? '' : '.'}${path}`;
}

/** Traces the arguments of the calls through their runs. */
async function findSources(calls: readonly RecordedCall[], tools: ToolsByServer | undefined): Promise<Found> {
  const rules = [...groupByTool(calls)].map(([id, [call]]): RuleDocument => {
    const { server = '', tool = '' } = call ?? {};
    return { id, effect: 'allow', server, tool };
  });
  if (rules.length === 0) return new Map();
  // Sources are traced for a policy that has a word about them.
  const untrusted = [{ server: 'none', tool: 'none' }];
  const policy: PolicyDocument = { version: 1, duplicate_names: 'allow', rules, untrusted };
  const decided = await decideRecorded(calls, policy, tools);
  return new Map(decided.map(({ call, decision }) => [call, decision.sources ?? []]));
}
