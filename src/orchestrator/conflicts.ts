import { beginningOfJson } from '../json/index.ts';
import { toolWords } from './backtrack.ts';
import { NOTICES } from './prompts.ts';
import type { ToolChainEntry } from './result.ts';
import {
  holdsWord,
  type MemberGroup,
  type MemberValue,
  memberGroups,
  plainKey,
  searchWork,
} from './result-members.ts';

/** Two tools that say different things about the same field of the same thing. */
export interface Conflict {
  /** What names the thing, for instance `C17`. */
  readonly entity: string;
  readonly field: string;
  readonly readings: readonly [Reading, Reading];
}

interface Reading {
  readonly index: number;
  readonly toolName: string;
  readonly value: MemberValue;
}

interface Fact extends Reading {
  readonly types: ReadonlySet<string>;
  /** The fields of the thing, in order; empty for one alone. */
  readonly shape: string;
}

const MAX_FACTS = 5_000;
const MAX_CONFLICTS = 20;
/** Readings of one field that are kept. */
const MAX_READINGS = 20;
/** Differences that are looked into. */
const MAX_CHECKS = 200;
/** Names of one thing. What has more is a list, and no thing. */
const MAX_NAMES = 4;
/** A longer text is prose, which two tools word differently. */
const MAX_VALUE_CHARS = 500;
const MAX_ARGUMENTS_CHARS = 20_000;
const MAX_ANSWER_CHARS = 20_000;
/** Characters of arguments searched for changes, for each result. */
const MAX_SEARCH = 500_000;

/** Names of a thing by themselves; other keys name one when they end in `id`, `key`, `code` or `number`. */
const IDENTITIES = new Set(
  'id uuid guid key code sku email isbn iban uri url path slug ticker symbol number'.split(' '),
);
/** Fields that differ between two good readings: times, ranks, links, pages. */
const VOLATILE =
  /(?:^|[_\s-])(?:at|time|timestamp|ts|score|rank|etag|cursor|token|href|link|self|offset|page|index|position|type|kind|duration|ms|seconds|version|source)$|(?:At|Time|Timestamp)$/;
/** Fields of an answer as a whole, which say nothing about what was asked for. */
const OF_THE_ANSWER = new Set(
  'result value output content text message success ok count total data error status summary answer note'.split(
    ' ',
  ),
);
const VERBS = new Set(
  'get list find search read fetch lookup look query show describe load info details'.split(' '),
);
const WRITES =
  /(?:^|[_.\s-])(?:update|set|write|create|delete|edit|move|add|put|patch|insert|remove|rename|change|save)/;

/** Finds results of different tools that disagree: the same key, a different value. */
export class Conflicts {
  readonly found: Conflict[] = [];
  /** By who names the thing, what names it, and the field. */
  readonly #facts = new Map<string, Fact[]>();
  /** For each entry the arguments of a call that changes something; undefined for others. */
  readonly #changes: (string | undefined)[] = [];
  /** Kinds of things that the latest result speaks of, by the name of a list. */
  readonly #types = new Map<string, readonly string[]>();
  #count = 0;
  #checks = 0;
  #searched = 0;

  /**
   * Adds the next entry of the chain.
   * @param server whose resources the URIs in the result name. @defaultValue all entries are of one server
   * @returns the disagreements it brings.
   */
  add(entry: Pick<ToolChainEntry, 'toolName' | 'arguments' | 'success' | 'result'>, server = ''): Conflict[] {
    const { toolName } = entry;
    const isChange = WRITES.test(toolName.slice(toolName.indexOf('.')));
    const index =
      this.#changes.push(isChange ? beginningOfJson(entry.arguments, MAX_ARGUMENTS_CHARS) : undefined) - 1;
    const before = this.found.length;
    this.#searched = 0;
    this.#types.clear();
    if (entry.success) {
      for (const group of memberGroups(entry.result)) this.#addGroup(group, entry, index, server);
    }
    return this.found.slice(before);
  }

  #addGroup(
    group: MemberGroup,
    { toolName, arguments: args }: Pick<ToolChainEntry, 'toolName' | 'arguments'>,
    index: number,
    server: string,
  ): void {
    const named = findIdentity(group) ?? (group.name === '' ? identityOfArguments(args) : undefined);
    if (named === undefined) return;
    const kinds = this.#types.get(group.name) ?? listTypes(toolName, group.name);
    this.#types.set(group.name, kinds);
    const types = new Set([...named.types, ...kinds]);
    const keys = group.members.map(({ key }) => plainKey(key));
    const shape = keys.length < 2 ? '' : [...keys].sort().join(' ');
    for (const { key, parent, value } of group.members) {
      const plain = plainKey(key);
      const isNamed = isIdentity(key) || named.keys.has(plain);
      if (typeof value === 'string' && value.length > MAX_VALUE_CHARS) continue;
      if (isNamed || VOLATILE.test(key) || (named.isAsked && OF_THE_ANSWER.has(plain))) continue;
      const isOnly = keys.indexOf(plain) === keys.lastIndexOf(plain);
      const fact = { index, toolName, value, types, shape };
      this.#addFact(
        named.keys.has('uri') ? server : '',
        named.entity,
        isOnly ? key : `${parent}.${key}`,
        fact,
      );
    }
  }

  #addFact(owner: string, entity: string, field: string, fact: Fact): void {
    const id = JSON.stringify([owner, entity, plainKey(field)]);
    const known = this.#facts.get(id) ?? [];
    const other = known.findLast((one) => one.toolName !== fact.toolName && isSameThing(entity, one, fact));
    if (other !== undefined && !isSameValue(other.value, fact.value)) this.#check(entity, field, other, fact);
    if (this.#count >= MAX_FACTS || known.length >= MAX_READINGS) return;
    this.#count += 1;
    known.push(fact);
    this.#facts.set(id, known);
  }

  #check(entity: string, field: string, before: Fact, now: Fact): void {
    this.#checks += 1;
    if (this.found.length >= MAX_CONFLICTS || this.#checks > MAX_CHECKS) return;
    // A value that was changed in between is no contradiction.
    const names = entity.split(' ');
    const isChanged = this.#changes.slice(before.index + 1, now.index + 1).some((text) => {
      if (text === undefined) return false;
      for (const name of names) this.#searched += searchWork(text, name);
      return this.#searched > MAX_SEARCH || names.some((name) => holdsWord(text, name));
    });
    if (isChanged) return;
    this.found.push({ entity, field, readings: [before, now] });
  }
}

/** One sentence about a conflict. @param answer the final answer, to tell which value it takes. */
export function conflictSentence({ entity, field, readings: [one, other] }: Conflict, answer = ''): string {
  const said = (reading: Reading): string => JSON.stringify(reading.value).slice(0, 120);
  const searched = answer.slice(0, MAX_ANSWER_CHARS);
  const taken = [one, other].filter(({ value }) => holdsWord(searched, String(value)));
  const [only] = taken;
  const choice = taken.length === 1 && only !== undefined ? `; the answer says ${said(only)}` : '';
  return `Steps ${one.index + 1} and ${other.index + 1} disagree about ${field} of ${entity}: ${said(one)} according to ${one.toolName}, ${said(other)} according to ${other.toolName}${choice}.`;
}

/** The message to the model about conflicts that were just found. */
export function conflictNotice(conflicts: readonly Conflict[]): string {
  const lines = conflicts.map((conflict) => conflictSentence(conflict));
  return `${NOTICES.conflict} ${lines.join(' ')} Find out which is right, or say in your answer which one you trust and why.`;
}

interface Identity {
  readonly entity: string;
  readonly types: readonly string[];
  readonly keys: ReadonlySet<string>;
  /** The thing is known from the arguments of the call, not from the result. */
  readonly isAsked: boolean;
}

function isIdentity(key: string): boolean {
  const plain = plainKey(key);
  return IDENTITIES.has(plain) || /(?:[a-z](?:Id|Key|Code|Number)|[_\s-](?:id|key|code|number))$/.test(key);
}

function findIdentity({ members }: MemberGroup): Identity | undefined {
  const own = members.filter(({ key, parent }) => isIdentity(key) && parent === (members[0]?.parent ?? ''));
  // An object's own `id` names it; keys of other things beside it do not. Without one, all of them do together.
  const [id] = own.filter(({ key }) => IDENTITIES.has(plainKey(key)));
  const named = id === undefined ? own : [id];
  const names = named.length > 0 ? named : members.filter(({ key }) => plainKey(key) === 'name').slice(0, 1);
  if (names.length === 0 || names.length > MAX_NAMES) return undefined;
  return {
    entity: names
      .map(({ value }) => String(value).slice(0, 200))
      .sort()
      .join(' '),
    types: names.map(({ key }) => plainKey(key).replace(/(?:id|key|code|number|name)$/, '')),
    keys: new Set(names.map(({ key }) => plainKey(key))),
    isAsked: false,
  };
}

/** A result without a name of its own is about what was asked for. */
function identityOfArguments(args: Readonly<Record<string, unknown>>): Identity | undefined {
  const given = Object.entries(args).filter(
    ([, value]) => typeof value === 'string' || typeof value === 'number',
  );
  const named = given.filter(([key]) => isIdentity(key));
  const names = named.length > 0 ? named : given;
  if (names.length === 0 || names.length > MAX_NAMES) return undefined;
  const texts = names.map(([, value]) => String(value));
  if (texts.some((text) => text.length > 200)) return undefined;
  return {
    entity: texts.sort().join(' '),
    types: names.map(([key]) => plainKey(key).replace(/(?:id|key|code|number)$/, '')),
    keys: new Set(names.map(([key]) => plainKey(key))),
    isAsked: true,
  };
}

function listTypes(toolName: string, name: string): string[] {
  const words = toolWords(toolName.slice(toolName.indexOf('.') + 1), undefined);
  return [...words, ...toolWords(name, undefined)]
    .map(plainKey)
    .filter((word) => word !== '' && !VERBS.has(word));
}

/**
 * `C17` is one thing wherever it turns up; `7` is one only among things of the same kind, or of the same fields where the
 * tools do not say of which kind theirs are.
 */
function isSameThing(entity: string, one: Fact, other: Fact): boolean {
  const isDistinctive = entity.length >= 3 && /\p{L}/u.test(entity) && /[\p{N}@/:.-]/u.test(entity);
  const [kinds, others] = [one, other].map(({ types }) => [...types].filter((type) => type !== ''));
  if (isDistinctive || kinds?.some((kind) => other.types.has(kind)) === true) return true;
  const isKindUnknown = kinds?.length === 0 || others?.length === 0;
  return isKindUnknown && one.shape !== '' && one.shape === other.shape;
}

function isSameValue(one: MemberValue, other: MemberValue): boolean {
  const [left, right] = [String(one).trim().toLowerCase(), String(other).trim().toLowerCase()];
  return left === right || (left !== '' && right !== '' && Number(left) === Number(right));
}
