/**
 * Tasks: a request that is answered by a task goes on until the task has ended, as polls, notifications and its result
 * tell. 2025-11-25 has them in the protocol (`{task: {...}}`, `tasks/result`), 2026-07-28 as an extension
 * (`resultType: 'task'`, results and errors inside of `tasks/get`).
 */
import { trace } from '@opentelemetry/api';
import { openCalls } from '../shared/index.ts';
import type { Connection } from './connection.ts';
import { ATTR_SERVER_NAME } from './identity.ts';
import type { McpMessage } from './internal-types.ts';
import { clipped } from './methods.ts';
import { CANCELLED_OUTCOME, LOST_OUTCOME, outcomeOfResponse, type RequestOutcome } from './outcome.ts';
import type { SpanPlace } from './propagation.ts';
import type { McpSide } from './types.ts';
import type { OpenRequest } from './under-way.ts';

/** Tasks kept in mind; beyond it the oldest is given up. */
const MAX_TASKS = 1000;
/** How long a task is waited for at most, and where it does not say how long it is kept. */
const MAX_TTL_MS = 24 * 3_600_000;

/** What is sent about a task that exists. */
const ABOUT_TASKS: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
  'notifications/tasks',
  'notifications/tasks/status',
]);

interface Task {
  readonly operation: OpenRequest;
  /** By `Date.now()`. */
  readonly expiresAt: number;
  status: string;
  /** Set when it has completed and its result is still to be fetched. */
  completedAt: number | undefined;
}

interface TaskFacts {
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: unknown;
  readonly lastUpdatedAt?: unknown;
  readonly ttlMs?: unknown;
  readonly ttl?: unknown;
  readonly result?: unknown;
  readonly error?: McpMessage['error'];
}

const tasks = new Map<string, Task>();

/** Keeps an operation going if its result is a task. @returns whether it is. */
export function beginTask(
  connection: Connection,
  operation: OpenRequest,
  side: McpSide,
  result: unknown,
): boolean {
  if (ABOUT_TASKS.has(operation.method)) return false;
  const { resultType, task } = (result ?? {}) as { readonly resultType?: unknown; readonly task?: unknown };
  const facts = readFacts(resultType === 'task' ? result : task);
  if (facts === undefined) return false;
  giveUpExpired();
  const key = toKey(connection, side, facts.taskId);
  tasks.get(key)?.operation.end(LOST_OUTCOME);
  tasks.delete(key);
  const ttl = facts.ttlMs ?? facts.ttl;
  const expiresAt =
    Date.now() + (typeof ttl === 'number' && ttl > 0 ? Math.min(ttl, MAX_TTL_MS) : MAX_TTL_MS);
  tasks.set(key, { operation, expiresAt, status: '', completedAt: undefined });
  operation.detach();
  learn(key, facts);
  return true;
}

/**
 * Where the span of a message about a task belongs: linked to the request that the task is of, and in its trace where
 * nothing else is going on.
 */
export function besideTask(
  connection: Connection,
  side: McpSide,
  message: McpMessage,
  place: SpanPlace,
): SpanPlace {
  const taskId = findTaskId(message);
  const task = taskId === undefined ? undefined : tasks.get(toKey(connection, side, taskId));
  if (task === undefined) return place;
  const { parent, links } = place;
  const { span } = task.operation;
  return {
    parent: trace.getSpan(parent) === undefined ? trace.setSpan(parent, span) : parent,
    links: [...(links ?? []), { context: span.spanContext() }],
  };
}

export function findTaskId({ method, params }: McpMessage): string | undefined {
  if (typeof method !== 'string' || !ABOUT_TASKS.has(method)) return undefined;
  const id = params?.taskId;
  return typeof id === 'string' ? id : undefined;
}

/** A notification, or the response to a request, about a task. */
export function learnOfTask(
  connection: Connection,
  side: McpSide,
  about: McpMessage,
  response: { readonly result?: unknown },
): void {
  const taskId = findTaskId(about);
  if (taskId === undefined) return;
  const key = toKey(connection, side, taskId);
  if (about.method === 'tasks/result') {
    finish(key, outcomeOfResponse('tools/call', { result: response.result }), undefined);
    return;
  }
  const { result } = response;
  const facts = readFacts((result as { readonly task?: unknown } | undefined)?.task ?? result);
  if (facts?.taskId === taskId) learn(key, facts);
}

function learn(key: string, facts: TaskFacts): void {
  const task = tasks.get(key);
  if (task === undefined) return;
  const { status } = facts;
  if (status !== task.status) {
    task.status = status;
    task.operation.describeTask(facts.taskId, status);
  }
  const endedAt = readTime(facts.lastUpdatedAt);
  const message = typeof facts.statusMessage === 'string' ? facts.statusMessage : undefined;
  if (status === 'completed') {
    if (facts.result === undefined) task.completedAt = endedAt ?? Date.now();
    else finish(key, outcomeOfResponse('tools/call', { result: facts.result }), endedAt);
  } else if (status === 'cancelled') {
    finish(key, { ...CANCELLED_OUTCOME, summary: 'Task cancelled', message }, endedAt);
  } else if (status === 'failed') {
    const { error, result } = facts;
    const told =
      error === undefined && result === undefined ? {} : outcomeOfResponse('tools/call', { error, result });
    const failed = { errorType: 'task_failed', summary: 'Task failed', message };
    finish(key, told.errorType === undefined ? failed : told, endedAt);
  }
}

function finish(key: string, outcome: RequestOutcome, endedAt: number | undefined): void {
  const task = tasks.get(key);
  if (task === undefined) return;
  tasks.delete(key);
  task.operation.end(outcome, endedAt ?? task.completedAt);
}

/** Tasks that nobody asks about any more. */
function giveUpExpired(): void {
  const now = Date.now();
  for (const [key, task] of tasks) {
    if (tasks.size < MAX_TASKS && task.expiresAt > now) break;
    giveUp(key, task);
  }
}

function giveUp(key: string, { completedAt }: Task): void {
  finish(key, completedAt === undefined ? LOST_OUTCOME : {}, completedAt);
}

// Tasks may outlive the process that asks for them: their spans end with it, without an error of their own.
openCalls.alsoEnd(() => {
  for (const [key, { completedAt }] of tasks) finish(key, {}, completedAt);
});

/** Task ids are unique to a server; the requests about one may come over other connections. */
function toKey(connection: Connection, side: McpSide, taskId: string): string {
  const { peer } = connection.facts;
  const server = connection.identity.attributes[ATTR_SERVER_NAME] ?? '';
  const place = side === 'server' ? '' : (peer.address ?? connection.id);
  return `${side}\n${place}\n${peer.port ?? ''}\n${server}\n${clipped(taskId)}`;
}

function readFacts(value: unknown): TaskFacts | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { taskId, status } = value as Partial<TaskFacts>;
  return typeof taskId === 'string' && typeof status === 'string' && STATUSES.has(status)
    ? (value as TaskFacts)
    : undefined;
}

const STATUSES: ReadonlySet<string> = new Set([
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
]);

function readTime(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
}
