/** The spans of one query of the Claude Agent SDK, from its messages. */
import type { Context } from '@opentelemetry/api';
import { parseMessages } from '../../interaction/index.ts';
import { isObject, type JsonObject, listAt, numberAt, objectAt, stringAt } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import { anthropicMessages } from '../../wire/index.ts';
import { AnswerReader, type CallHost } from '../shared/index.ts';
import { Subagent } from './claude-subagent.ts';
import { type FrameworkModelCall, FrameworkRun, type FrameworkToolCall } from './run.ts';

/** A request to the model whose answer comes in events. */
interface Asking {
  readonly call: FrameworkModelCall;
  readonly reader: AnswerReader;
}

interface ToolStep {
  readonly name: string;
  readonly server?: string | undefined;
  readonly arguments?: unknown;
}

interface Counted {
  readonly model?: string | undefined;
  readonly usage?: TokenUsage | undefined;
}

type Counts = {
  -readonly [K in 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens']: number;
};

/** Most tool calls under way, and messages of the conversation that are kept for its hash. */
const MAX_TOOLS = 1000;
const MAX_HISTORY = 500;

export class ClaudeRun {
  readonly #run: FrameworkRun;
  readonly #tools = new Map<string, FrameworkToolCall>();
  /** Ids of tool calls that have ended; what comes late makes no second span. */
  readonly #ended = new Set<string>();
  /** By the tool call in which a subagent runs; the main agent has none. */
  readonly #asking = new Map<string | undefined, Asking>();
  /** By the tool call that started each, which may have ended: some work on in the background. */
  readonly #subagents = new Map<string, Subagent>();
  readonly #history: unknown[] = [];
  /** What the model calls so far have used, by the model that answered. */
  readonly #counted = new Map<string, Counts>();
  #model: string | undefined;
  #failure: Error | undefined;

  constructor(host: CallHost, prompt: unknown, agent: string | undefined, model: string | undefined) {
    this.#model = model;
    this.#run = new FrameworkRun(host, { operation: 'invoke_agent', name: agent, provider: 'anthropic' });
    if (typeof prompt === 'string') this.#history.push({ role: 'user', content: prompt });
  }

  get context(): Context {
    return this.#run.context;
  }

  read(message: JsonObject): void {
    const parent = stringAt(message, 'parent_tool_use_id');
    switch (message.type) {
      case 'system':
        if (message.subtype === 'init') this.#begin(message);
        else if (message.status === 'requesting') this.#ask(undefined);
        else this.#count(this.#subagents.get(stringAt(message, 'tool_use_id') ?? '')?.endCall() ?? {});
        break;
      case 'stream_event':
        this.#event(objectAt(message, 'event') ?? {}, parent);
        break;
      case 'assistant':
        this.#said(message, parent);
        break;
      case 'user':
        this.#results(message, parent);
        break;
      case 'result':
        this.#result(message);
        break;
    }
  }

  /** The context of a tool call, which starts unless it has. */
  startTool(id: string, { name, server, arguments: args }: ToolStep, parent?: string): Context | undefined {
    const open = this.#tools.get(id);
    if (open !== undefined) return open.context;
    if (this.#ended.has(id) || this.#tools.size >= MAX_TOOLS) return undefined;
    const tool = this.#run.startTool({ name, id, server, arguments: args }, this.#contextIn(parent));
    this.#tools.set(id, tool);
    this.#subagents.set(id, new Subagent(this.#run, tool.context, args));
    const [oldest] = this.#subagents;
    if (oldest !== undefined && this.#subagents.size > MAX_TOOLS) {
      this.#count(oldest[1].endCall());
      this.#subagents.delete(oldest[0]);
    }
    return tool.context;
  }

  end(): void {
    if (this.#failure !== undefined) this.fail(this.#failure);
    else {
      for (const tool of this.#tools.values()) tool.end();
      for (const { call, reader } of this.#asking.values()) this.#answer(call, reader);
      this.#endSubagentCalls();
      this.#run.end();
    }
  }

  fail(error: unknown): void {
    for (const { call } of this.#asking.values()) call.fail(error);
    for (const tool of this.#tools.values()) tool.fail(error);
    this.#endSubagentCalls();
    this.#run.fail(error);
  }

  #contextIn(parent: string | undefined): Context {
    return (parent === undefined ? undefined : this.#subagents.get(parent)?.context) ?? this.#run.context;
  }

  #begin(message: JsonObject): void {
    this.#model = stringAt(message, 'model') ?? this.#model;
    const session = stringAt(message, 'session_id');
    if (session !== undefined) this.#run.inConversation(session);
  }

  #ask(parent: string | undefined): Asking {
    // Asked again: an attempt has failed.
    this.#asking.get(parent)?.call.fail(new Error('asked again'));
    const size = this.#history.length;
    const step = {
      provider: 'anthropic',
      model: parent === undefined ? this.#model : undefined,
      isStream: true,
      messages: () => parseMessages(this.#history.slice(0, size)),
    };
    const call = this.#run.startModel(step, this.#contextIn(parent));
    const asking = { call, reader: new AnswerReader(anthropicMessages) };
    this.#asking.set(parent, asking);
    return asking;
  }

  #event(event: JsonObject, parent: string | undefined): void {
    const asking = this.#asking.get(parent) ?? this.#ask(parent);
    asking.reader.chunk(event);
    if (event.type !== 'message_stop') return;
    this.#asking.delete(parent);
    this.#answer(asking.call, asking.reader);
  }

  #answer(call: FrameworkModelCall, reader: AnswerReader): void {
    const { messages, ...answer } = reader.result();
    call.answer({ ...answer, message: messages()[0] });
    this.#count(answer);
  }

  #count({ model, usage }: Counted): void {
    if (model === undefined || usage === undefined) return;
    this.#counted.set(model, addedTo(this.#counted.get(model), usage));
  }

  #endSubagentCalls(): void {
    for (const agent of this.#subagents.values()) this.#count(agent.endCall());
  }

  /** One message for each block that is complete; tools may run before the answer is. */
  #said({ message }: JsonObject, parent: string | undefined): void {
    const agent = parent === undefined ? undefined : this.#subagents.get(parent);
    if (parent === undefined) this.#remember(message);
    // Some versions may tell of it in events too.
    else if (agent !== undefined && !this.#asking.has(parent) && isObject(message))
      this.#count(agent.said(message));
    for (const block of listAt(message, 'content')) {
      const id = stringAt(block, 'id');
      const called = stringAt(block, 'name');
      if (stringAt(block, 'type') !== 'tool_use' || id === undefined || called === undefined) continue;
      const [, server, name = called] = /^mcp__(.+?)__(.+)$/.exec(called) ?? [];
      (this.#asking.get(parent)?.call ?? agent)?.chose({ id, name });
      this.startTool(id, { name, server, arguments: objectAt(block, 'input') }, parent);
    }
  }

  #results({ message }: JsonObject, parent: string | undefined): void {
    if (parent === undefined) this.#remember(message);
    else this.#count(this.#subagents.get(parent)?.told(message) ?? {});
    for (const block of listAt(message, 'content')) {
      const id = stringAt(block, 'tool_use_id');
      const tool = this.#tools.get(id ?? '');
      if (id === undefined || tool === undefined || !isObject(block)) continue;
      this.#tools.delete(id);
      if (this.#ended.size < MAX_TOOLS) this.#ended.add(id);
      if (block.is_error === true) tool.fail(Object.assign(new Error('tool error'), { name: 'tool_error' }));
      else tool.end(block.content);
    }
  }

  #remember(message: unknown): void {
    if (this.#history.length < MAX_HISTORY) this.#history.push(message);
  }

  /** The end of a turn, with all that its process has used: also by calls of which there was no message. */
  #result(message: JsonObject): void {
    if (message.is_error === true || message.subtype !== 'success') {
      const name = stringAt(message, 'subtype') ?? 'error';
      this.#failure = Object.assign(new Error(name), { name });
    }
    this.#endSubagentCalls();
    for (const [model, used] of Object.entries(objectAt(message, 'modelUsage') ?? {})) {
      const rest = this.#findRest(model, used);
      if (rest === undefined) continue;
      const step = { provider: 'anthropic', model, messages: () => [] };
      this.#run.startModel(step).answer({ model, usage: rest });
      this.#counted.set(model, addedTo(this.#counted.get(model), rest));
    }
  }

  #findRest(model: string, used: unknown): TokenUsage | undefined {
    const cacheReadTokens = numberAt(used, 'cacheReadInputTokens') ?? 0;
    const cacheWriteTokens = numberAt(used, 'cacheCreationInputTokens') ?? 0;
    const rest: Counts = {
      inputTokens: (numberAt(used, 'inputTokens') ?? 0) + cacheReadTokens + cacheWriteTokens,
      outputTokens: numberAt(used, 'outputTokens') ?? 0,
      cacheReadTokens,
      cacheWriteTokens,
    };
    for (const [answered, counted] of this.#counted) {
      if (!answered.startsWith(model) && !model.startsWith(answered)) continue;
      for (const name of COUNTS) rest[name] -= counted[name];
    }
    for (const name of COUNTS) rest[name] = Math.max(0, rest[name]);
    return rest.inputTokens + rest.outputTokens > 0 ? rest : undefined;
  }
}

const COUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const;

function noCounts(): Counts {
  return { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
}

function addedTo(counts: Counts = noCounts(), rest: TokenUsage): Counts {
  for (const name of COUNTS) counts[name] += rest[name] ?? 0;
  return counts;
}
