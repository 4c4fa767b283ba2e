/** What the limits of a rule's argument leave open, or take in beside what their author thought of. */
import { compileLinear, impliedTypes, isObject } from '../json/index.ts';
import type { LintFinding } from './lint-finding.ts';
import type { RuleDocument } from './policy-file.ts';

type Found = Pick<LintFinding, 'code' | 'message'>;

/**
 * @param tool the tool, or a name with a `*`.
 * @param taken the schema that the tool has for the argument, if it is known.
 */
export function lintArgument(
  { id, effect }: RuleDocument,
  tool: string,
  argument: string,
  schema: unknown,
  taken: unknown,
): readonly Found[] {
  const where = `Rule '${id}', argument '${argument}'`;
  return [
    ...untypedLimits(effect, where, schema, taken),
    ...readPatterns(schema).flatMap((pattern) => [
      ...unanchored(where, pattern),
      ...pathAsText(effect, where, pattern),
      ...(effect === 'allow' && isOfActions(tool, argument) ? anyText(where, pattern) : []),
    ]),
  ];
}

function untypedLimits(
  effect: RuleDocument['effect'],
  where: string,
  schema: unknown,
  taken: unknown,
): readonly Found[] {
  const types = readBranches(schema).flatMap(impliedTypes);
  const given = isObject(taken) ? [taken.type].flat() : [undefined];
  if (
    types.length === 0 ||
    given.every((type) => types.includes(type === 'integer' ? 'number' : String(type)))
  )
    return [];
  const what = [...new Set(types)].join(' or ');
  const others = {
    allow: 'no other value is allowed',
    require_approval: 'other values are held too where a rule allows them, else denied',
    deny: 'all other values are denied',
  }[effect];
  const message = `${where}: has limits for ${what} and no 'type': ${others}. Write the 'type' it means`;
  return [{ code: 'untyped_limit', message }];
}

/** A schema and those that are put together with it for the same value. */
function readBranches(schema: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isObject(schema)) return [];
  const parts = [schema.allOf, schema.anyOf, schema.oneOf, schema.not].flat();
  return schema.type === undefined ? [schema, ...parts.flatMap(readBranches)] : [];
}

function unanchored(where: string, pattern: string): readonly Found[] {
  const isFromStart = pattern.startsWith('^');
  const isToEnd = /(?:^|[^\\])(?:\\\\)*\$$/.test(pattern);
  if (isFromStart && isToEnd) return [];
  const how = isFromStart
    ? 'says nothing about the end'
    : isToEnd
      ? 'says nothing about the start'
      : 'matches anywhere';
  return [{ code: 'unanchored_pattern', message: `${where}: '${pattern}' ${how}; write ^...$` }];
}

/** Names of what is run or opened, as parts of names of arguments and tools. */
const ACTIONS = /(?:^|[^a-z])(?:cmd|command|script|shell|exec|args|argv|path|file|dir|folder)s?(?![a-z])/i;

function isOfActions(tool: string, argument: string): boolean {
  const words = argument.replace(/([a-z])([A-Z])/g, '$1_$2');
  return ACTIONS.test(words) || /(?:^|_)(?:run|exec|execute|shell|bash)(?:_|$)/i.test(tool);
}

/** A `.` that is repeated, so that it takes `; rm -rf ~` and `/../` as well. */
function anyText(where: string, pattern: string): readonly Found[] {
  const plain = pattern.replace(/\\./g, 'x');
  const [found] = /\.(?:[*+]|\{\d+,\d*\})/.exec(plain) ?? [];
  if (found === undefined) return [];
  const message = `${where}: '${pattern}' takes anything at '${found}', such as '; rm -rf ~' or '/../'`;
  return [{ code: 'any_text', message }];
}

/** A path that a pattern wants or denies from its start on: `^/data/`, `^[A-Z]:`, `^file:`. */
const PATH = /^\^(?:\\?\/|\.{0,2}\\?\/|~|[A-Za-z]:|file:)[^[(.*+?{|$]*/;

function pathAsText(effect: RuleDocument['effect'], where: string, pattern: string): readonly Found[] {
  const start = PATH.exec(pattern)?.[0].slice(1).replaceAll('\\', '');
  if (start === undefined) return [];
  const isPassed = effect === 'allow' ? fitsAround(pattern, start) : true;
  if (!isPassed) return [];
  const example =
    effect === 'allow'
      ? `'${start}../x' fits it`
      : `'${start.replace(/(.*)\//, '$1/x/../')}' is the same path and does not fit it`;
  const message = `${where}: paths are compared as text: ${example}`;
  return [{ code: 'path_as_text', message }];
}

/** Whether the pattern takes a path that leaves the folder it begins with. */
function fitsAround(pattern: string, start: string): boolean {
  try {
    const form = compileLinear(pattern);
    return ['../x', 'x/../../x', '../x.txt', 'x/../../x.txt'].some((rest) => form.test(start + rest));
  } catch {
    return false;
  }
}

function readPatterns(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(readPatterns);
  if (!isObject(schema)) return [];
  return Object.entries(schema).flatMap(([key, member]) =>
    key === 'pattern' && typeof member === 'string' ? [member] : readPatterns(member),
  );
}
