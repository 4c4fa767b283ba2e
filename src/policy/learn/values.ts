/** The tightest schema of the values that an argument was seen with, and what it says in words. */
import { canonicalJson, isObject, redactValue, StepBudget } from '../../json/index.ts';
import { compileOperatorSchema } from '../operator-schema.ts';

/** How values are said: one by one, by what they share, or, where a rule names their sources, by their types alone. */
export type ValueForm = 'listed' | 'shared' | 'traced';

/** What a rule may say of an argument. */
export interface LearnedValue {
  readonly schema: object;
  /** After the name of the argument: `is one of "a", "b"`. */
  readonly words: string;
}

/** Most values that are listed. Of more, the rule says what they share. */
const MAX_LISTED = 200;
/** A longer value is not written into a policy. */
const MAX_KEPT_CHARS = 2_000;
const MAX_SHOWN = 5;
const MAX_DEPTH = 8;

/**
 * @param values at least one.
 * @param form `shared`: the folder of paths, the domain of addresses, the form of ids, the range of numbers. `listed` says
 * these only of what cannot be listed: too many values, long ones, secrets.
 */
export function learnValue(values: readonly unknown[], form: ValueForm, depth = 0): LearnedValue {
  const distinct = [...new Map(values.map((value) => [canonicalJson(value), value]))];
  const isKept = distinct.every(([text, value]) => text.length <= MAX_KEPT_CHARS && !hasSecret(text, value));
  const canList = isKept && distinct.length <= MAX_LISTED;
  if (canList && form === 'listed') return listed(distinct.map(([, value]) => value));
  const kinds = new Set(values.map(toKind));
  const branches = [...kinds].map((kind) =>
    learnKind(
      values.filter((value) => toKind(value) === kind),
      form === 'traced' ? 'traced' : 'shared',
      canList,
      depth,
    ),
  );
  const [only] = branches;
  if (branches.length === 1 && only !== undefined) return only;
  return {
    schema: { anyOf: branches.map(({ schema }) => schema) },
    words: branches.map(({ words }) => words).join(' or '),
  };
}

/** One that was taken out of the recording counts too: what stood there is not known. */
function hasSecret(text: string, value: unknown): boolean {
  return text.includes(REDACTED) || canonicalJson(redactValue(value)) !== text;
}

const REDACTED = '[redacted: ';

function listed(values: readonly unknown[]): LearnedValue {
  const shown = values.slice(0, MAX_SHOWN).map((value) => JSON.stringify(value).slice(0, 60));
  const more = values.length > MAX_SHOWN ? ` or ${values.length - MAX_SHOWN} more` : '';
  return {
    schema: values.length === 1 ? { const: values[0] } : { enum: values },
    words: `is ${shown.join(' or ')}${more}`,
  };
}

function toKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null || typeof value === 'boolean') return 'word';
  return typeof value;
}

function learnKind(
  values: readonly unknown[],
  form: ValueForm,
  canList: boolean,
  depth: number,
): LearnedValue {
  const [first] = values;
  const isLeaf = typeof first === 'string' || typeof first === 'number';
  if (isLeaf && form === 'traced') {
    const type = values.every(Number.isInteger) ? 'integer' : typeof first;
    return { schema: { type }, words: `is any ${type === 'string' ? 'text' : type}` };
  }
  if (typeof first === 'string') return learnText(values as readonly string[], canList);
  if (typeof first === 'number') return learnNumber(values as readonly number[]);
  if (depth >= MAX_DEPTH) return { schema: { type: toType(first) }, words: `is any ${toType(first)}` };
  if (Array.isArray(first)) return learnList(values as readonly unknown[][], form, depth);
  if (isObject(first)) return learnObject(values.filter(isObject), form, depth);
  return listed([...new Set(values)]);
}

const toType = (value: unknown): string => (Array.isArray(value) ? 'array' : 'object');

function learnNumber(values: readonly number[]): LearnedValue {
  const type = values.every(Number.isInteger) ? 'integer' : 'number';
  const minimum = values.reduce((a, b) => Math.min(a, b));
  const maximum = values.reduce((a, b) => Math.max(a, b));
  return { schema: { type, minimum, maximum }, words: `is a number from ${minimum} to ${maximum}` };
}

function learnList(values: readonly unknown[][], form: ValueForm, depth: number): LearnedValue {
  const maxItems = Math.max(...values.map(({ length }) => length));
  const items = values.flat();
  if (items.length === 0) return { schema: { type: 'array', maxItems: 0 }, words: 'is an empty list' };
  const { schema, words } = learnValue(items, form, depth + 1);
  if (form === 'traced')
    return { schema: { type: 'array', items: schema }, words: `is a list, each of which ${words}` };
  return {
    schema: { type: 'array', items: schema, maxItems },
    words: `is a list of up to ${maxItems}, each of which ${words}`,
  };
}

function learnObject(
  values: readonly Readonly<Record<string, unknown>>[],
  form: ValueForm,
  depth: number,
): LearnedValue {
  const names = [...new Set(values.flatMap((value) => Object.keys(value)))];
  const members = names.map((name) => {
    const given = values.filter((value) => Object.hasOwn(value, name));
    const isRequired = given.length === values.length;
    return {
      name,
      isRequired,
      learned: learnValue(
        given.map((value) => value[name]),
        form,
        depth + 1,
      ),
    };
  });
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(members.map(({ name, learned }) => [name, learned.schema])),
      required: members.filter(({ isRequired }) => isRequired).map(({ name }) => name),
      additionalProperties: false,
    },
    words: `has only ${members.map(({ name, learned }) => `${name}, which ${learned.words}`).join('; ')}`,
  };
}

/** Words that are used over and over are a choice. */
const isChoice = (distinct: number, count: number): boolean => distinct <= 8 && distinct * 3 <= count;

function learnText(values: readonly string[], canList: boolean): LearnedValue {
  const distinct = [...new Set(values)];
  if (distinct.some((text) => text.includes(REDACTED)))
    return { schema: { type: 'string' }, words: 'is any text, since its secrets were not recorded' };
  if (canList && isChoice(distinct.length, values.length)) return listed(distinct);
  const shared =
    learnShared(distinct, 'emailDomainIn', 'is an address of', (text) => /@([^@]+)$/.exec(text)?.[1]) ??
    learnShared(distinct, 'urlHostIn', 'is a URL of', toHost) ??
    learnShared(distinct, 'pathWithin', 'is a path in', (text) => /^(\/.*)\/[^/]*$/.exec(text)?.[1]) ??
    learnForm(distinct);
  if (shared !== undefined) return shared;
  const maxLength = Math.max(...distinct.map((text) => [...text].length));
  return { schema: { type: 'string', maxLength }, words: `is any text of up to ${maxLength} characters` };
}

function toHost(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).host : undefined;
}

const MAX_PLACES = 20;

/** What a keyword for addresses or paths says of all texts, if it means each of them. */
function learnShared(
  texts: readonly string[],
  keyword: string,
  says: string,
  read: (text: string) => string | undefined,
): LearnedValue | undefined {
  const found = texts.map(read);
  if (found.includes(undefined)) return undefined;
  const places = [...new Set(found as string[])].sort();
  const outer = places.filter((place) => !places.some((other) => place.startsWith(`${other}/`)));
  if (outer.length > MAX_PLACES) return undefined;
  const schema = { type: 'string', [keyword]: outer };
  try {
    const compiled = compileOperatorSchema(schema, 'narrow');
    if (!texts.every((text) => compiled.test(text, new StepBudget()))) return undefined;
  } catch {
    return undefined;
  }
  return { schema, words: `${says} ${outer.join(' or ')}` };
}

const MAX_RUNS = 12;

/** The form of ids, codes and dates: runs of letters and digits, and what stands between them. */
function learnForm(texts: readonly string[]): LearnedValue | undefined {
  const forms = texts.map((text) => [...text.matchAll(/[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]/g)]);
  const [first = []] = forms;
  const toRunKind = (run: string): string =>
    /^[A-Z]/.test(run) ? 'A-Z' : /^[a-z]/.test(run) ? 'a-z' : /^[0-9]/.test(run) ? '0-9' : run;
  const isForm =
    texts.length > 1 &&
    first.length <= MAX_RUNS &&
    first.some(([run]) => /^[0-9]/.test(run)) &&
    forms.every(
      (form) =>
        form.length === first.length &&
        form.every(([run], at) => toRunKind(run) === toRunKind(first[at]?.[0] ?? '')),
    );
  if (!isForm) return undefined;
  const parts = first.map(([run], at) => {
    const runs = forms.map((form) => form[at]?.[0] ?? '');
    if (runs.every((one) => one === run))
      return run.replace(/[^A-Za-z0-9]/, (one) => `[${one === '^' ? '\\^' : one.replace(/[\\\]]/, '\\$&')}]`);
    const lengths = runs.map(({ length }) => length);
    return `[${toRunKind(run)}]{${Math.min(...lengths)},${Math.max(...lengths)}}`;
  });
  const pattern = `^${parts.join('')}$`;
  const compiled = compileOperatorSchema({ type: 'string', pattern }, 'narrow');
  if (!texts.every((text) => compiled.test(text, new StepBudget()))) return undefined;
  return { schema: { type: 'string', pattern }, words: `has the form of ${JSON.stringify(texts[0])}` };
}
