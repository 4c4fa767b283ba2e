import { type Steps, takeAll, takeInSlices } from '../../base/index.ts';
import { type NameKind, nameKind } from './names.ts';
import { isOpaque } from './opaque.ts';
import { isValueKey, pairKind } from './pairs.ts';
import { hasMark, hasNoSecret, redactSteps } from './text.ts';
import { isSecretMember } from './values.ts';

/** The text with each secret replaced by `[redacted: <kind>]`. Redacting the outcome again changes nothing. */
export function redactText(text: string): string {
  return hasNoSecret(text) ? text : takeAll(redactSteps(text));
}

/** A copy of a JSON value with the secrets of every text redacted, keys included. */
export function redactValue<T>(value: T): T {
  return takeAll(valueSteps(value)) as T;
}

/** Members after which the caller may pause. */
const MEMBERS = 64;

/** A member that is set like others; assigning it would set the prototype. */
const OWN = { enumerable: true, writable: true, configurable: true } as const;

/** As {@link redactValue}, for values of any size: in slices, between which the event loop turns. */
export async function redactLargeValue<T>(value: T): Promise<T> {
  return (await takeInSlices(valueSteps(value))) as T;
}

function* valueSteps(value: unknown): Steps<unknown> {
  if (typeof value === 'string') return hasNoSecret(value) ? value : yield* redactSteps(value);
  if (typeof value !== 'object' || value === null) return value;
  yield;
  return yield* Array.isArray(value) ? listSteps(value) : objectSteps(value);
}

/** How the members of an object are to be read, by what it says of itself. */
interface Reading {
  /** Members that hold the value of the name in another member. */
  readonly pair: NameKind | undefined;
  /** Whether members named `data` hold secrets under any name: a Kubernetes Secret. */
  readonly isSecret: boolean;
  readonly isLogprob: boolean;
}

function toReading(value: object): Reading {
  return {
    pair: pairKind(value),
    isSecret: 'kind' in value && value.kind === 'Secret',
    isLogprob: 'logprob' in value,
  };
}

function memberKind(key: string, { pair, isLogprob }: Reading): NameKind | undefined {
  if (isLogprob) return undefined;
  return (pair !== undefined && isValueKey(key) ? pair : undefined) ?? nameKind(key);
}

function* objectSteps(value: object): Steps<unknown> {
  const out: Record<string, unknown> = {};
  let count = 0;
  const reading = toReading(value);
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    const member: unknown = value[key as keyof typeof value];
    const kind = memberKind(key, reading);
    const name = hasNoSecret(key) ? key : yield* redactSteps(key);
    const isData = reading.isSecret && (key === 'data' || key === 'stringData');
    const redacted =
      kind !== undefined
        ? yield* secretSteps(kind, member)
        : isData && isPlain(member)
          ? yield* membersSteps('strong', member, () => true)
          : yield* valueSteps(member);
    if (name === '__proto__') Object.defineProperty(out, name, { value: redacted, ...OWN });
    else out[name] = redacted;
    count += 1;
    if (count % MEMBERS === 0) yield;
  }
  return out;
}

const REDACTED = '[redacted: secret]';

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What stands under the name of a secret: a text, a long number, texts in a list, bytes, an object with the value. */
function* secretSteps(kind: NameKind, member: unknown): Steps<unknown> {
  if (typeof member === 'string' && !hasMark(member) && isSecretMember(kind, member, true)) return REDACTED;
  if (typeof member === 'number' && kind === 'strong' && Number.isInteger(member) && member > 999)
    return REDACTED;
  if (isPlain(member)) {
    if (kind === 'strong' && 'type' in member && member.type === 'Buffer' && 'data' in member)
      return REDACTED;
    return yield* membersSteps(kind, member, isHolder);
  }
  if (!Array.isArray(member)) return yield* valueSteps(member);
  const out: unknown[] = [];
  for (const item of member) {
    out.push(typeof item === 'string' ? yield* secretSteps(kind, item) : yield* valueSteps(item));
    if (out.length % MEMBERS === 0) yield;
  }
  return out;
}

const isHolder = (key: string): boolean => /^(?:value|val|stringValue|plaintext|secretValue)$/.test(key);

/** A copy of an object of which some members hold secrets. */
function* membersSteps(kind: NameKind, object: object, holds: (key: string) => boolean): Steps<unknown> {
  const copy = (yield* objectSteps(object)) as Record<string, unknown>;
  for (const key of Object.keys(copy)) {
    const member = copy[key];
    if (!holds(key) || typeof member !== 'string') continue;
    if (!hasMark(member) && isSecretMember(kind, member, true)) copy[key] = REDACTED;
  }
  return copy;
}

function* listSteps(list: readonly unknown[]): Steps<unknown> {
  const out: unknown[] = [];
  const isOfPairs = list.length > 0 && list.every(isNameAndValue);
  for (const [index, item] of list.entries()) {
    const before: unknown = list[index - 1];
    const kind =
      typeof before === 'string' && typeof item === 'string' ? argumentKind(before, item) : undefined;
    if (kind !== undefined && !hasMark(item as string)) out.push(REDACTED);
    else if (isOfPairs) out.push(yield* pairSteps(item as [string, unknown]));
    else out.push(yield* valueSteps(item));
    if (out.length % MEMBERS === 0) yield;
  }
  return out;
}

function isNameAndValue(item: unknown): boolean {
  return Array.isArray(item) && item.length === 2 && typeof item[0] === 'string';
}

function* pairSteps([name, value]: [string, unknown]): Steps<unknown> {
  const kind = nameKind(name);
  return [
    yield* valueSteps(name),
    kind === undefined ? yield* valueSteps(value) : yield* secretSteps(kind, value),
  ];
}

const OPTION = /^--?[A-Za-z]/;

/** What a text of a list is, by the one before it: an option of a command, the name of a header. */
function argumentKind(before: string, text: string): NameKind | undefined {
  if (before.length > 64 || text.length < 4) return undefined;
  const kind = nameKind(before);
  if (kind === undefined || nameKind(text) !== undefined || OPTION.test(text)) return undefined;
  const isArgument = OPTION.test(before) && kind === 'strong';
  if (kind === 'header' || isArgument) return isSecretMember(kind, text, true) ? kind : undefined;
  return isOpaque(text, 8) ? kind : undefined;
}
