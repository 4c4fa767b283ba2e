/**
 * Version 7 of the AI SDK, by its global telemetry integrations: it tells them of each run, model call and tool call,
 * and lets them make the calls in a context of their own.
 */
import { context } from '@opentelemetry/api';
import { type Message, parseMessages, readUsageBeside } from '../../interaction/index.ts';
import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../json/index.ts';
import { type CallHost, guard } from '../shared/index.ts';
import { type FrameworkModelCall, FrameworkRun, type FrameworkToolCall } from './run.ts';

/** The runs of the AI SDK that are under way. */
interface Running {
  readonly run: FrameworkRun;
  model: FrameworkModelCall | undefined;
  readonly tools: Map<string, FrameworkToolCall>;
}

/** Most runs under way; the spans of further ones are left out. */
const MAX_RUNS = 10_000;

type Execute = { readonly execute: () => PromiseLike<unknown> };

/** Where the AI SDK keeps what `registerTelemetry` was given; every copy of it reads the same list. */
const REGISTRY = 'AI_SDK_TELEMETRY_INTEGRATIONS';

/** Registers with every copy of the AI SDK that this process has, or will have. @returns what removes it again. */
export function registerAiSdk(host: () => CallHost | undefined): () => void {
  const integration = integrationFor(host);
  const registry = globalThis as { [REGISTRY]?: object[] };
  registry[REGISTRY] = [...(registry[REGISTRY] ?? []), integration];
  return () => {
    registry[REGISTRY] = registry[REGISTRY]?.filter((each) => each !== integration) ?? [];
  };
}

function integrationFor(host: () => CallHost | undefined): object {
  const runs = new Map<string, Running>();
  const readRun = (event: unknown): Running | undefined => runs.get(stringAt(event, 'callId') ?? '');
  const handle = (name: string, work: (event: JsonObject) => void) => (event: unknown) => {
    guard(`AI SDK ${name}`, () => isObject(event) && work(event));
  };
  const finish = (event: unknown, end: (running: Running) => void): void => {
    const running = readRun(event);
    if (running === undefined) return;
    runs.delete(stringAt(event, 'callId') ?? '');
    end(running);
  };
  return {
    onStart: handle('onStart', (event) => {
      const id = stringAt(event, 'callId');
      const current = host();
      // Version 6 has no ids of calls; it is traced by its own spans.
      if (id === undefined || current === undefined || runs.size >= MAX_RUNS) return;
      const provider = stringAt(event, 'provider');
      const name = stringAt(event, 'functionId') ?? stringAt(event, 'operationId');
      const run = new FrameworkRun(current, { operation: 'invoke_agent', name, provider });
      runs.set(id, { run, model: undefined, tools: new Map() });
    }),
    executeLanguageModelCall: (event: JsonObject & Execute) => {
      const running = readRun(event);
      const model = guard('AI SDK model call', () => running?.run.startModel(readModelStep(event)));
      if (running === undefined || model === undefined) return event.execute();
      running.model = model;
      return within(model, event.execute);
    },
    onLanguageModelCallEnd: handle('onLanguageModelCallEnd', (event) => {
      const running = readRun(event);
      const message = readMessage(event);
      running?.model?.answer({
        id: stringAt(event, 'responseId'),
        model: stringAt(event, 'modelId'),
        finishReasons: [stringAt(event, 'finishReason')].filter((reason) => reason !== undefined),
        ...readUsageBeside(event.usage, event.providerMetadata),
        message,
      });
      if (running !== undefined) running.model = undefined;
      for (const part of listAt(event, 'content')) {
        const name = stringAt(part, 'toolName');
        if (!isObject(part) || part.invalid !== true || name === undefined) continue;
        // A call that the SDK refuses to make, as for arguments that are no JSON: no other event tells of it.
        const id = stringAt(part, 'toolCallId');
        running?.run.startTool({ name, id, arguments: part.input }).fail(part.error);
      }
    }),
    executeTool: (event: JsonObject & Execute) => {
      const running = readRun(event);
      const call = objectAt(event, 'toolCall');
      const id = stringAt(event, 'toolCallId');
      const name = stringAt(call, 'toolName');
      const tool =
        name === undefined
          ? undefined
          : guard('AI SDK tool call', () => running?.run.startTool({ name, id, arguments: call?.input }));
      if (tool === undefined) return event.execute();
      if (id !== undefined) running?.tools.set(id, tool);
      return context.with(tool.context, event.execute);
    },
    onToolExecutionEnd: handle('onToolExecutionEnd', (event) => {
      const running = readRun(event);
      const id = stringAt(objectAt(event, 'toolCall'), 'toolCallId') ?? '';
      const output = objectAt(event, 'toolOutput');
      const tool = running?.tools.get(id);
      running?.tools.delete(id);
      if (stringAt(output, 'type') === 'tool-error') tool?.fail(output?.error);
      else tool?.end(output?.output);
    }),
    onEnd: handle('onEnd', (event) => finish(event, ({ run }) => run.end())),
    onAbort: handle('onAbort', (event) =>
      finish(event, ({ run, model, tools }) => {
        for (const part of [model, ...tools.values(), run])
          part?.fail(new DOMException('aborted', 'AbortError'));
      }),
    ),
    onError: handle('onError', (event) =>
      finish(event, ({ run, model, tools }) => {
        for (const part of [model, ...tools.values(), run]) part?.fail(event.error);
      }),
    ),
  };
}

/** A call that fails ends with its attempt; one that succeeds when its answer has been read. */
function within(model: FrameworkModelCall, execute: Execute['execute']): PromiseLike<unknown> {
  const result = context.with(model.context, execute);
  result.then(undefined, (error: unknown) => guard('AI SDK failed call', () => model.fail(error)));
  return result;
}

function readModelStep(event: JsonObject) {
  return {
    provider: stringAt(event, 'provider'),
    model: stringAt(event, 'modelId'),
    messages: () => parseMessages([readSystem(event.instructions), listAt(event, 'messages')].flat()),
    tools: event.tools,
  };
}

/** A text, or one or more messages of the system. */
function readSystem(instructions: unknown): unknown {
  return typeof instructions === 'string' ? { role: 'system', content: instructions } : (instructions ?? []);
}

function readMessage(event: JsonObject): Message {
  const parts = listAt(event, 'content').flatMap((part): Message['parts'] => {
    const text = stringAt(part, 'text');
    switch (stringAt(part, 'type')) {
      case 'text':
        return text === undefined ? [] : [{ type: 'text', content: text }];
      case 'tool-call':
        return [
          {
            type: 'tool_call',
            id: stringAt(part, 'toolCallId'),
            name: stringAt(part, 'toolName'),
            arguments: isObject(part) ? part.input : undefined,
          },
        ];
      default:
        return [];
    }
  });
  return { role: 'assistant', parts };
}
