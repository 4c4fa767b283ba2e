/** Approvals that people gave by the means of a framework. Each is taken once in a process, for the call it was given for. */
import { randomUUID } from 'node:crypto';
import { canonicalJson, type JsonObject, readList, readObject, sha256Hex } from '../../json/index.ts';

/** What is remembered of approvals: the oldest is forgotten. */
const MAX_KNOWN = 10_000;

/** Approvals that were taken, and what people were asked about: a tool and its arguments, by call. */
const taken = new Map<string, true>();
const asked = new Map<string, string>();

function remember<T>(known: Map<string, T>, id: string, value: T): void {
  known.set(id, value);
  for (const oldest of known.keys()) {
    if (known.size <= MAX_KNOWN) break;
    known.delete(oldest);
  }
}

function takeOnce(id: string): true | undefined {
  if (taken.has(id)) return undefined;
  remember(taken, id, true);
  return true;
}

/**
 * Remembers what a person is asked about first: who keeps the run until the answer may change it, and a framework may ask
 * about the change again.
 */
export function noteAsked(callId: unknown, tool: string, input: unknown): void {
  const digest = readDigest([tool, input]);
  if (typeof callId !== 'string' || digest === undefined || asked.has(callId)) return;
  remember(asked, callId, digest);
}

/** Whether a call is what a person was asked about, as far as this process knows. */
function isAsAsked(callId: string, tool: string, input: unknown): boolean {
  const known = asked.get(callId);
  return known === undefined || known === readDigest([tool, input]);
}

function readDigest(input: unknown): string | undefined {
  try {
    return sha256Hex(canonicalJson(input));
  } catch {
    return undefined;
  }
}

/**
 * AI SDK 6 and 7: the messages that a tool is called with hold the request for approval of this call and the answer.
 * @param options what the SDK passes to `execute`.
 * @param tool as `noteAsked` was told of it: the SDK's own name may be another one.
 */
export function approvalIn(options: unknown, tool: string, input: unknown): true | undefined {
  const { toolCallId } = readObject(options);
  const { approvalId, call, answers } = answerIn(options);
  if (approvalId === undefined || typeof toolCallId !== 'string') return undefined;
  const digest = readDigest(input);
  if (digest === undefined || readDigest(call?.input) !== digest || !isAsAsked(toolCallId, tool, input))
    return undefined;
  const isApproved = answers.length > 0 && answers.every(({ approved }) => approved === true);
  return isApproved ? takeOnce(`ai ${approvalId}`) : undefined;
}

/** Whether the messages hold an answer about this call, whatever it is. */
export function isAnsweredIn(options: unknown): boolean {
  return answerIn(options).answers.length > 0;
}

interface Answer {
  readonly approvalId?: string;
  readonly call?: JsonObject | undefined;
  readonly answers: readonly JsonObject[];
}

/** The request for approval of a call in the messages, the call that it is about, and the answers. */
function answerIn(options: unknown): Answer {
  const { toolCallId, messages } = readObject(options);
  if (typeof toolCallId !== 'string') return { answers: [] };
  const parts = readList(messages)
    .flatMap((message) => readList(readObject(message).content))
    .map(readObject);
  const about = parts.filter((part) => part.toolCallId === toolCallId);
  const request = about.findLast(({ type }) => type === 'tool-approval-request');
  const approvalId = request?.approvalId;
  if (typeof approvalId !== 'string') return { answers: [] };
  const call = about.findLast(({ type }) => type === 'tool-call');
  const answers = parts.filter(
    (part) => part.type === 'tool-approval-response' && part.approvalId === approvalId,
  );
  return { approvalId, call, answers };
}

/**
 * OpenAI Agents SDK: the run context knows the calls that were approved. An approval of all calls of a tool is not one
 * of this call.
 */
export function isApprovedInRun(
  run: unknown,
  toolName: string,
  details: unknown,
  input: unknown,
): true | undefined {
  const { isToolApproved } = readObject(run);
  const { callId } = readObject(readObject(details).toolCall);
  if (typeof isToolApproved !== 'function' || typeof callId !== 'string') return undefined;
  const isApproved = (id: string): boolean =>
    Reflect.apply(isToolApproved, run, [{ toolName, callId: id } satisfies JsonObject]) === true;
  if (!isApproved(callId) || isApproved(randomUUID()) || !isAsAsked(callId, toolName, input))
    return undefined;
  return takeOnce(`agents ${callId}`);
}
