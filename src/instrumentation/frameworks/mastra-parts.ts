/** What the spans of Mastra represent: runs, model calls and tool calls. */
import { type Context, context, createContextKey } from '@opentelemetry/api';
import { type MessagePart, parseMessages } from '../../interaction/index.ts';
import { isObject, type JsonObject, objectAt, parseContainerOrKeep, stringAt } from '../../json/index.ts';
import { readUsageObject } from '../../signals/index.ts';
import { type CallHost, guard } from '../shared/index.ts';
import type { MastraSpan } from './mastra-span.ts';
import {
  type FrameworkAnswer,
  type FrameworkModelCall,
  FrameworkRun,
  type FrameworkToolCall,
} from './run.ts';

/** The steps of a generation, of which one at a time asks the model. */
interface Generation {
  /** As Mastra names them: `model`, `provider`, `tools`. */
  attributes: JsonObject;
  input: unknown;
  model?: FrameworkModelCall | undefined;
}

/** What a span of Mastra represents, and what its children belong to. */
export interface MastraPart {
  readonly host: CallHost;
  readonly run: FrameworkRun;
  readonly context: Context;
  readonly generation?: Generation;
  /** The agent whose call made the run has no span of Mastra yet. */
  isAwaitingAgent?: boolean;
  /** Mastra ends what the application aborts as if it had come to its end. */
  readonly signal?: AbortSignal | undefined;
}

const ABORTED = new DOMException('aborted', 'AbortError');

/** What ends with a span. */
interface Own {
  readonly signal?: AbortSignal | undefined;
  readonly run?: FrameworkRun;
  readonly tool?: FrameworkToolCall;
  readonly generation?: Generation;
}

const PART = createContextKey('mcp-observatory.mastra');
const followed = new WeakSet<object>();

export function findPart(active: Context): MastraPart | undefined {
  return active.getValue(PART) as MastraPart | undefined;
}

/** The part of a run that a call of an agent makes. */
export function rootPart(host: CallHost, run: FrameworkRun, signal: unknown): MastraPart {
  const part: MastraPart = {
    host,
    run,
    context: run.context,
    isAwaitingAgent: true,
    signal: signal instanceof AbortSignal ? signal : undefined,
  };
  return Object.assign(part, { context: run.context.setValue(PART, part) });
}

/** Makes our spans with those of Mastra, below `parent`. @param options with which the span was made. */
export function followSpan(span: MastraSpan, parent: MastraPart, options?: unknown): MastraSpan {
  if (!isObject(span) || followed.has(span)) return span;
  followed.add(span);
  const { part, own } = started(parent, isObject(options) ? options : {});
  const { createChildSpan, update, end, error, executeInContext, executeInContextSync } = span;
  const inCall = () => part.generation?.model?.context ?? part.context;
  return Object.assign(span, {
    createChildSpan: (about: unknown) => {
      const child = createChildSpan.call(span, about);
      return guard('Mastra span', () => followSpan(child, part, about)) ?? child;
    },
    update: (about: unknown) => {
      guard('Mastra update', () => noteUpdate(part, about));
      return update.call(span, about);
    },
    end: (about: unknown) => {
      guard('Mastra end', () => finish(own, isObject(about) ? about : {}));
      return end.call(span, about);
    },
    error: (about: unknown) => {
      guard('Mastra error', () => fail(own, isObject(about) ? about.error : undefined));
      return error.call(span, about);
    },
    executeInContext: (work: () => Promise<unknown>) =>
      executeInContext.call(span, () => context.with(part.context, work)),
    executeInContextSync: (work: () => unknown) => {
      const result = executeInContextSync.call(span, () => context.with(inCall(), work));
      guard('Mastra model stream', () => readStream(result, part));
      return result;
    },
  });
}

function started(parent: MastraPart, about: JsonObject): { readonly part: MastraPart; readonly own: Own } {
  const { host, run, context: active, generation, signal } = parent;
  const attributes = objectAt(about, 'attributes') ?? {};
  switch (about.type) {
    case 'agent_run': {
      if (parent.isAwaitingAgent === true) {
        parent.isAwaitingAgent = false;
        return { part: { ...parent }, own: { run, signal } };
      }
      const agent = new FrameworkRun(
        host,
        {
          operation: 'invoke_agent',
          name: stringAt(about, 'entityName') ?? stringAt(about, 'entityId'),
          conversationId: stringAt(objectAt(about, 'metadata'), 'threadId'),
        },
        active,
      );
      return { part: { ...parent, run: agent, context: agent.context }, own: { run: agent, signal } };
    }
    case 'model_generation': {
      const made: Generation = { attributes, input: about.input };
      return { part: { ...parent, generation: made }, own: { generation: made, signal } };
    }
    case 'model_inference':
      if (generation !== undefined) ask(parent, generation);
      return { part: parent, own: generation === undefined ? {} : { generation, signal } };
    case 'tool_call':
    case 'mcp_tool_call': {
      const step = {
        name: toolName(about, stringAt(attributes, 'mcpServer')),
        id: stringAt(attributes, 'toolCallId'),
        arguments: parseContainerOrKeep(about.input),
      };
      const tool = run.startTool(step, active);
      return { part: { ...parent, context: tool.context }, own: { tool } };
    }
    default:
      return { part: parent, own: {} };
  }
}

/** The name that the server of a tool knows it by; Mastra puts that of the server before it. */
function toolName(about: JsonObject, server: string | undefined): string {
  const name = stringAt(about, 'entityName') ?? stringAt(about, 'entityId') ?? 'tool';
  const prefix = `${server}_`;
  return server !== undefined && name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

function ask(parent: MastraPart, generation: Generation): void {
  // The model before has been given up for another.
  generation.model?.fail(new Error('another model was asked'));
  const { attributes } = generation;
  generation.model = parent.run.startModel(
    {
      provider: stringAt(attributes, 'provider'),
      model: stringAt(attributes, 'model'),
      messages: () => parseMessages(objectAt(generation, 'input')?.messages ?? generation.input),
      tools: attributes.tools,
    },
    parent.context,
  );
}

function noteUpdate({ generation }: MastraPart, about: unknown): void {
  if (generation === undefined || !isObject(about)) return;
  if (about.input !== undefined) generation.input = about.input;
  generation.attributes = { ...generation.attributes, ...objectAt(about, 'attributes') };
}

function finish({ run, tool, generation, signal }: Own, about: JsonObject): void {
  if (signal?.aborted === true) run?.fail(ABORTED);
  const attributes = objectAt(about, 'attributes');
  if (attributes?.success === false) tool?.fail(about.output);
  else tool?.end(about.output);
  if (signal?.aborted === true) generation?.model?.fail(ABORTED);
  // Where nothing of the stream was read.
  generation?.model?.answer({
    model: stringAt(attributes, 'responseModel'),
    usage: readUsageObject(objectAt(attributes, 'usage')),
  });
  run?.end();
}

function fail({ run, tool, generation }: Own, error: unknown): void {
  generation?.model?.fail(error);
  tool?.fail(error);
  run?.fail(error);
}

/** Reads the chunks of a model's answer as Mastra does; it passes the stream on once. */
function readStream(stream: unknown, { generation, signal }: MastraPart): void {
  const model = generation?.model;
  if (model === undefined || !(stream instanceof ReadableStream)) return;
  const parts: MessagePart[] = [];
  let answer: FrameworkAnswer = {};
  const read = (chunk: unknown): void => {
    const payload = objectAt(chunk, 'payload');
    switch (stringAt(chunk, 'type')) {
      case 'text-delta':
        addText(parts, stringAt(payload, 'text') ?? '');
        break;
      case 'tool-call': {
        const call = readToolCall(payload);
        parts.push(call);
        // The tool may be called while the answer still comes.
        model.chose(call);
        break;
      }
      case 'response-metadata':
        answer = { ...answer, id: stringAt(payload, 'id'), model: stringAt(payload, 'modelId') };
        break;
      case 'finish': {
        const reason = stringAt(objectAt(payload, 'stepResult'), 'reason');
        const usage = readUsageObject(objectAt(objectAt(payload, 'output'), 'usage'));
        answer = { ...answer, usage, finishReasons: reason === undefined ? [] : [reason] };
        break;
      }
      case 'error':
        model.fail(payload?.error);
        break;
      case 'abort':
        model.fail(ABORTED);
        break;
    }
  };
  const pipeThrough = stream.pipeThrough.bind(stream);
  const observed = (...args: Parameters<typeof pipeThrough>) =>
    pipeThrough(
      new TransformStream({
        transform(chunk, controller) {
          guard('Mastra chunk', () => read(chunk));
          controller.enqueue(chunk);
        },
        flush() {
          guard('Mastra answer', () => {
            if (signal?.aborted === true && answer.finishReasons === undefined) model.fail(ABORTED);
            else model.answer({ ...answer, message: { role: 'assistant', parts } });
          });
        },
      }),
    ).pipeThrough(...args);
  Object.defineProperty(stream, 'pipeThrough', { value: observed, configurable: true, writable: true });
}

function addText(parts: MessagePart[], text: string): void {
  const last = parts.at(-1);
  if (last?.type === 'text') parts[parts.length - 1] = { ...last, content: last.content + text };
  else parts.push({ type: 'text', content: text });
}

function readToolCall(payload: JsonObject | undefined): Extract<MessagePart, { type: 'tool_call' }> {
  return {
    type: 'tool_call',
    id: stringAt(payload, 'toolCallId'),
    name: stringAt(payload, 'toolName'),
    arguments: payload?.args,
  };
}
