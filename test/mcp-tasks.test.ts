// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
/** Tasks of 2026-07-28 over the official SDK, whose own methods know only those of 2025-11-25. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const ANY = z.looseObject({});
const GET = z.looseObject({ method: z.literal('tasks/get'), params: z.looseObject({}) });
const UPDATE = z.looseObject({ method: z.literal('tasks/update'), params: z.looseObject({}) });
const NOTIFIED = z.looseObject({ method: z.literal('notifications/tasks'), params: z.looseObject({}) });

/** A tool `work` that is answered by a task, which `tell` says how it goes. */
class TaskServer {
  readonly taskId = randomUUID();
  readonly #server = new Server({ name: 'slow', version: '1' }, { capabilities: { tools: {}, tasks: {} } });
  readonly client = new Client({ name: 'c', version: '1' });
  state: object = { status: 'working' };

  async connect(): Promise<this> {
    this.#server.setRequestHandler(CallToolRequestSchema, () => ({
      resultType: 'task',
      taskId: this.taskId,
      status: 'working',
      ttlMs: 60_000,
      content: [],
    }));
    this.#server.setRequestHandler(GET, () => ({
      resultType: 'complete',
      taskId: this.taskId,
      ...this.state,
    }));
    this.#server.setRequestHandler(UPDATE, () => ({ resultType: 'complete' }));
    this.client.setNotificationHandler(NOTIFIED, () => {});
    const [here, there] = InMemoryTransport.createLinkedPair();
    await Promise.all([this.#server.connect(there), this.client.connect(here)]);
    return this;
  }

  request(method: string, params: object = { taskId: this.taskId }): Promise<unknown> {
    return this.client.request({ method, params: { ...params } }, ANY);
  }

  call(): Promise<unknown> {
    return this.request('tools/call', { name: 'work', arguments: {} });
  }

  async notify(): Promise<void> {
    const params = { taskId: this.taskId, ...this.state };
    await this.#server.notification({ method: 'notifications/tasks', params } as never);
  }
}

async function observed(body: (server: TaskServer, bench: TelemetryBench) => Promise<void>): Promise<void> {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument({ Client, Server });
  const server = await new TaskServer().connect();
  try {
    await body(server, bench);
    assert.deepEqual([...instrumentation.faults], []);
  } finally {
    await server.client.close();
    instrumentation.disable();
  }
}

const SIDES = [SpanKind.CLIENT, SpanKind.SERVER];
const isLinkedTo = (span: ReadableSpan, to: ReadableSpan) =>
  span.links.some(({ context }) => context.spanId === to.spanContext().spanId);

test('a task that fails is an error of its call, from the call to the end of the work, on both sides', () =>
  observed(async (server, bench) => {
    await server.call();
    await server.request('tasks/get');
    await server.request('tasks/update', { taskId: server.taskId, inputResponses: {} });
    assert.ok(!bench.spans.some(({ name }) => name === 'tools/call work'), 'goes on while the task does');
    server.state = { status: 'failed', error: { code: -32603, message: 'private words' } };
    await server.request('tasks/get');
    for (const kind of SIDES) {
      const call = bench.span('tools/call work', kind);
      assert.equal(call.status.code, SpanStatusCode.ERROR);
      assert.equal(call.status.message, 'Internal error');
      assert.equal(call.attributes['error.type'], '-32603');
      assert.equal(call.attributes['observatory.mcp.task.id'], server.taskId);
      assert.equal(call.attributes['observatory.mcp.task.status'], 'failed');
      const polls = bench.spans.filter((span) => span.name.startsWith('tasks/') && span.kind === kind);
      assert.equal(polls.length, 3);
      for (const poll of polls) {
        assert.ok(isLinkedTo(poll, call), poll.name);
        assert.equal(poll.spanContext().traceId, call.spanContext().traceId, 'no trace of its own');
        assert.equal(poll.attributes['observatory.mcp.task.id'], server.taskId);
        assert.equal(poll.status.code, SpanStatusCode.UNSET);
      }
    }
  }));

test('a completed task ends its call by its result, when the server says that it ended', () =>
  observed(async (server, bench) => {
    const outer = trace.getTracer('app').startSpan('app');
    await server.call();
    const endedAt = Date.now();
    const lastUpdatedAt = new Date(endedAt).toISOString();
    await new Promise((resolve) => setTimeout(resolve, 30));
    const result = { content: [{ type: 'text', text: 'no' }], isError: true };
    server.state = { status: 'completed', lastUpdatedAt, result };
    await server.request('tasks/get');
    await server.request('tasks/get');
    outer.end();
    for (const kind of SIDES) {
      const call = bench.span('tools/call work', kind);
      assert.equal(call.attributes['error.type'], 'tool_error');
      const [seconds, nanos] = call.endTime;
      const late = seconds * 1000 + nanos / 1e6 - endedAt;
      assert.ok(late < 25, `${late} ms after the work`);
      assert.equal(call.events.at(-1)?.attributes?.['observatory.mcp.task.status'], 'completed');
    }
  }));

for (const [state, errorType] of [
  [{ status: 'cancelled' }, 'cancelled'],
  [{ status: 'failed', statusMessage: 'disk full' }, 'task_failed'],
  [{ status: 'completed', result: [1, 'any JSON'] }, undefined],
] as const) {
  test(`a notification that a task is ${state.status} (${errorType}) ends its call on both sides`, () =>
    observed(async (server, bench) => {
      await server.call();
      server.state = state;
      await server.notify();
      for (const kind of SIDES) {
        const call = bench.span('tools/call work', kind);
        assert.equal(call.attributes['error.type'], errorType);
        // The server sends it, to the client.
        const other = kind === SpanKind.CLIENT ? SpanKind.SERVER : SpanKind.CLIENT;
        assert.ok(isLinkedTo(bench.span('notifications/tasks', other), call));
      }
    }));
}

test('a call outlives its connection while its task goes on; what is no task is none', () =>
  observed(async (server, bench) => {
    await server.call();
    await server.client.close();
    assert.ok(!bench.spans.some(({ name }) => name === 'tools/call work'));
    server.state = { status: 'nonsense', taskId: 7 };
    const again = await new TaskServer().connect();
    again.state = { status: 'working', taskId: {}, result: { isError: true } };
    await again.call();
    await again.request('tasks/get');
    await again.request('tasks/get', { taskId: 'of another' });
    assert.ok(!bench.spans.some(({ name }) => name === 'tools/call work'));
    await again.client.close();
  }));
