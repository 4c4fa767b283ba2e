/**
 * Calls that no span is around: an application calls the SDKs itself and opens no span. Those of one conversation make
 * one trace, whose root is the first model call: what a request answers or goes on from says which answer came before,
 * and a tool call that an answer asked for is known by its name and arguments.
 *
 * A call that could belong to two conversations belongs to neither, and stays a trace of its own.
 */
import { type Context, type Link, type Span, type SpanContext, trace } from '@opentelemetry/api';
import {
  keptAnswer,
  keptConversation,
  type OutputMessage,
  readContinuation,
  readOpening,
} from '../../interaction/index.ts';
import { canonicalHash, isObject } from '../../json/index.ts';
import { RecentMap } from '../../processor/index.ts';
import { guard } from './guard.ts';

const MAX_KEPT = 8192;
/** Calls of one answer, and answers with an equal call, that are kept in mind. */
const MAX_CALLS = 64;
/** A conversation without a call for this long has ended: a person may still have to approve a tool call. */
const MAX_IDLE_MS = 15 * 60_000;
/** Model calls of one trace; a further one begins another, so that a conversation without an end is no endless trace. */
const MAX_IN_ONE = 1000;

interface Conversation {
  readonly root: SpanContext;
  lastMs: number;
  size: number;
  /** Its last answer asked for nothing. */
  isDone: boolean;
  /** The model call whose tool calls are being made. */
  asker: SpanContext | undefined;
}

interface Owner {
  readonly of: Conversation;
  /** Two conversations have the name: it tells nothing. */
  isShared: boolean;
}

interface AskedCall {
  readonly of: Conversation;
  readonly name: string;
  readonly argsHash: string;
  readonly asker: SpanContext;
}

/** A call without a span around it, and its conversation, if it has begun. */
export interface LooseCall {
  readonly request: unknown;
  readonly of: Conversation | undefined;
}

const owners = new RecentMap<Owner>(MAX_KEPT);
/** By the names of their arguments, so that few are compared in full. */
const asked = new RecentMap<AskedCall[]>(MAX_KEPT);

const isLive = (one: Conversation): boolean => performance.now() - one.lastMs < MAX_IDLE_MS;

/**
 * A model call that starts.
 * @returns `undefined` where a span is around it.
 */
export function looseCall(parent: Context, request: unknown): LooseCall | undefined {
  if (request === undefined || trace.getSpanContext(parent) !== undefined) return undefined;
  const found = owners.size === 0 ? undefined : readConversation(request);
  if (found !== undefined) {
    found.lastMs = performance.now();
    found.size += 1;
    found.asker = undefined;
  }
  return { request, of: found };
}

/** The context to make a loose call in: below the root of its conversation. */
export function toContext({ of }: LooseCall, parent: Context): Context {
  return of === undefined ? parent : trace.setSpanContext(parent, of.root);
}

function readConversation(request: unknown): Conversation | undefined {
  const { kept, answered } = readContinuation(request);
  if (kept.length === 0 && answered.length === 0) return undefined;
  const opening = answered.length === 0 ? '' : readOpening(request);
  const found = new Set<Conversation>();
  for (const name of [...kept, ...answered.map((id) => callName(opening, id))]) {
    const owner = owners.get(name);
    if (owner?.isShared === true) return undefined;
    if (owner !== undefined && isLive(owner.of)) found.add(owner.of);
  }
  const [one, ...others] = found;
  return others.length === 0 && one !== undefined && one.size < MAX_IN_ONE ? one : undefined;
}

/** Notes what the answer of a loose call asks for, and what it may be gone on from. */
export function noteAnswer(
  { request, of }: LooseCall,
  span: Span,
  answer: {
    readonly id?: string | undefined;
    readonly toolCallCount: number;
    readonly messages: () => readonly OutputMessage[];
  },
): void {
  const isKept = isObject(request) && request.input !== undefined;
  const conversation = keptConversation(request);
  const isDone = answer.toolCallCount === 0;
  if (of !== undefined) of.isDone = isDone;
  if (isDone && !isKept && conversation === undefined) return;
  const asker = span.spanContext();
  const one = of ?? { root: asker, lastMs: 0, size: 1, isDone, asker: undefined };
  one.lastMs = performance.now();
  if (conversation !== undefined) own(conversation, one);
  if (isKept && answer.id !== undefined) own(keptAnswer(answer.id), one);
  if (isDone) return;
  one.asker = asker;
  const opening = readOpening(request);
  const calls = answer.messages().flatMap(({ parts }) => parts.filter((part) => part.type === 'tool_call'));
  for (const { id, name, arguments: args } of calls.slice(0, MAX_CALLS)) {
    const key = id ?? name;
    if (key !== undefined) own(callName(opening, key), one);
    if (name !== undefined) ask(args ?? {}, { of: one, name, asker, argsHash: canonicalHash(args ?? {}) });
  }
}

const callName = (opening: string, id: string): string => `call ${opening} ${id.slice(0, 256)}`;

function own(name: string, by: Conversation): void {
  const owner = owners.get(name);
  // When a conversation is done, another one may use its ids, as of a provider that counts them.
  if (owner === undefined || !isLive(owner.of) || (owner.of !== by && owner.of.isDone))
    owners.set(name, { of: by, isShared: false });
  else if (owner.of !== by) owner.isShared = true;
}

function ask(args: unknown, call: AskedCall): void {
  const key = namesIn(args);
  const known = asked.get(key)?.filter(isWaiting) ?? [];
  if (known.length < MAX_CALLS) asked.set(key, [...known, call]);
}

const isWaiting = ({ of, asker }: AskedCall): boolean => of.asker === asker && isLive(of);

/** The context of a tool call that no span is around, and the link to the model call that asked for it. */
export function askedCall(
  parent: Context,
  tool: unknown,
  args: unknown,
): { readonly parent: Context; readonly links: Link[] } | undefined {
  if (asked.size === 0 || typeof tool !== 'string' || trace.getSpanContext(parent) !== undefined)
    return undefined;
  const called = args ?? {};
  const named =
    asked.get(namesIn(called))?.filter((call) => isWaiting(call) && namesTool(tool, call.name)) ?? [];
  if (named.length === 0) return undefined;
  const argsHash = guard('reading arguments', () => canonicalHash(called));
  const equal = named.filter((call) => call.argsHash === argsHash);
  const [call] = equal;
  if (call === undefined || equal.some(({ of }) => of !== call.of)) return undefined;
  call.of.lastMs = performance.now();
  return { parent: trace.setSpanContext(parent, call.of.root), links: [{ context: call.asker }] };
}

function namesIn(args: unknown): string {
  const names = isObject(args) ? Object.keys(args) : [];
  return names.length > MAX_CALLS ? 'many' : names.sort().join().slice(0, 1024);
}

/** Hosts put the name of the server before that of the tool. */
function namesTool(tool: string, asked: string): boolean {
  if (!asked.endsWith(tool)) return false;
  const before = asked.at(-tool.length - 1);
  return before === undefined || '_-./:'.includes(before);
}
