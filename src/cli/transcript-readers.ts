/**
 * The lines of the transcripts of coding agents, as the events that the same agents send.
 *
 * Sources: Claude Code writes `projects/<folder>/<session>.jsonl`, a line for each block of a message, with the usage of
 * the whole (code.claude.com/docs, "Sessions"); Codex writes `sessions/YYYY/MM/DD/rollout-*.jsonl`, the items of
 * `codex-rs/protocol` (openai/codex); Gemini CLI writes `tmp/<project>/chats/session-*.jsonl`, a message again as it grows
 * (its `chatRecordingService`).
 */
import { isObject, type JsonObject } from '../json/index.ts';
import { readUsageObject, writeUsageUnits } from '../signals/index.ts';

/** Tool calls whose names are kept in mind until their results come. */
const MAX_OPEN_CALLS = 10_000;
/** Requests of which further lines may come. */
const MAX_OPEN_REQUESTS = 64;

const MAX_KNOWN_IDS = 1_000_000;

/** One event in the words of its agent. */
export interface TranscriptEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** Reads the lines of one file, in order; the events that a line completes. */
export interface TranscriptReader {
  read(line: JsonObject, atMs: number): readonly TranscriptEvent[];
  /** What no further line can complete. */
  end(): readonly TranscriptEvent[];
}

/** Names and times of tool calls that have no result yet, the oldest forgotten first. */
class OpenCalls {
  readonly #open = new Map<string, { readonly name: string; readonly atMs: number }>();

  begin(id: string, name: string, atMs: number): void {
    this.#open.set(id, { name, atMs });
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN_CALLS && oldest !== undefined) this.#open.delete(oldest);
  }

  end(id: string, atMs: number): { readonly name: string; readonly tookMs: number } | undefined {
    const call = this.#open.get(id);
    this.#open.delete(id);
    return call && { name: call.name, tookMs: Math.max(0, atMs - call.atMs) };
  }
}

/** Ids in the transcripts read so far. A session that is forked or resumed may begin with a copy of another. */
export class KnownIds {
  readonly #readers = new Map<string, TranscriptReader>();

  /** Whether no other transcript had the id before. */
  isNew(id: string, reader: TranscriptReader): boolean {
    const known = this.#readers.get(id);
    if (known !== undefined) return known === reader;
    if (this.#readers.size < MAX_KNOWN_IDS) this.#readers.set(id, reader);
    return true;
  }
}

export class ClaudeReader implements TranscriptReader {
  readonly #withText: boolean;
  readonly #ids: KnownIds;
  readonly #calls = new OpenCalls();
  #prompt: string | undefined;
  /** Requests by id: each line of one has its usage so far. */
  readonly #requests = new Map<string, TranscriptEvent>();

  constructor(withText: boolean, ids: KnownIds) {
    this.#withText = withText;
    this.#ids = ids;
  }

  read(line: JsonObject, atMs: number): readonly TranscriptEvent[] {
    const { message, type } = line;
    if (!isObject(message)) return [];
    const blocks = Array.isArray(message.content) ? message.content.filter(isObject) : [];
    this.#prompt = textIn(line, 'promptId') ?? this.#prompt;
    if (type === 'assistant') return this.#answer(line, message, blocks, atMs);
    if (type !== 'user') return [];
    const results = blocks.filter((block) => block.type === 'tool_result');
    if (results.length > 0) return results.flatMap((block) => this.#result(line, block, atMs));
    return line.isMeta === true || line.isSidechain === true ? [] : this.#ask(line, message, blocks, atMs);
  }

  end(): readonly TranscriptEvent[] {
    const requests = [...this.#requests.values()];
    this.#requests.clear();
    return requests;
  }

  #ask(
    line: JsonObject,
    message: JsonObject,
    blocks: readonly JsonObject[],
    atMs: number,
  ): readonly TranscriptEvent[] {
    const uuid = textIn(line, 'uuid');
    this.#prompt = textIn(line, 'promptId') ?? uuid;
    if (uuid !== undefined && !this.#ids.isNew(uuid, this)) return this.end();
    const prompt =
      textIn(message, 'content') ?? blocks.map((block) => textIn(block, 'text') ?? '').join('\n');
    const attributes = { ...this.#common(line), ...(this.#withText ? { prompt } : {}) };
    return [...this.end(), { name: 'claude_code.user_prompt', atMs, attributes }];
  }

  #answer(line: JsonObject, message: JsonObject, blocks: readonly JsonObject[], atMs: number) {
    for (const block of blocks) {
      const [id, name] = [textIn(block, 'id'), textIn(block, 'name')];
      if (block.type !== 'tool_use' || id === undefined || name === undefined) continue;
      if (this.#ids.isNew(id, this)) this.#calls.begin(id, name, atMs);
    }
    const { usage } = message;
    const id = textIn(line, 'requestId') ?? textIn(message, 'id');
    // Messages that Claude Code writes itself, such as an error, have a model of this name.
    if (!isObject(usage) || id === undefined || message.model === '<synthetic>') return [];
    if (!this.#ids.isNew(id, this)) return [];
    const read = readUsageObject(usage);
    const { cacheReadTokens: cached = 0, cacheWriteTokens: written = 0, inputTokens } = read ?? {};
    const before = this.#requests.size < MAX_OPEN_REQUESTS || this.#requests.has(id) ? [] : this.end();
    this.#requests.set(id, {
      name: 'claude_code.api_request',
      atMs: this.#requests.get(id)?.atMs ?? atMs,
      attributes: {
        ...this.#common(line),
        request_id: id,
        model: textIn(message, 'model'),
        input_tokens: inputTokens === undefined ? undefined : inputTokens - cached - written,
        output_tokens: read?.outputTokens,
        cache_read_tokens: read?.cacheReadTokens,
        cache_creation_tokens: read?.cacheWriteTokens,
        // Which cache, which searches, how it was served.
        usage_units: read && writeUsageUnits(read),
        cost_usd: countIn(line, 'costUSD'),
      },
    });
    return before;
  }

  #result(line: JsonObject, block: JsonObject, atMs: number): TranscriptEvent[] {
    const id = textIn(block, 'tool_use_id');
    const call = id === undefined ? undefined : this.#calls.end(id, atMs);
    if (call === undefined) return [];
    const attributes = {
      ...this.#common(line),
      tool_name: call.name,
      tool_use_id: id,
      success: block.is_error !== true,
      duration_ms: call.tookMs,
    };
    return [{ name: 'claude_code.tool_result', atMs, attributes }];
  }

  #common(line: JsonObject): TranscriptEvent['attributes'] {
    return { 'session.id': textIn(line, 'sessionId'), 'prompt.id': this.#prompt };
  }
}

export class CodexReader implements TranscriptReader {
  readonly #withText: boolean;
  readonly #ids: KnownIds;
  /** The session whose counts the totals go on. */
  #origin: string | undefined;
  readonly #calls = new OpenCalls();
  #session: string | undefined;
  #model: string | undefined;
  #total = '';

  constructor(withText: boolean, ids: KnownIds) {
    this.#withText = withText;
    this.#ids = ids;
  }

  read({ type, payload }: JsonObject, atMs: number): readonly TranscriptEvent[] {
    if (!isObject(payload)) return [];
    const event = (name: string, attributes: TranscriptEvent['attributes'] = {}) => [
      { name, atMs, attributes: { 'conversation.id': this.#session, ...attributes } },
    ];
    if (type === 'session_meta') {
      this.#origin = textIn(payload, 'id');
      if (this.#session !== undefined) return [];
      this.#session = textIn(payload, 'id');
      return event('codex.conversation_starts');
    }
    if (type === 'turn_context') this.#model = textIn(payload, 'model') ?? this.#model;
    const id = textIn(payload, 'call_id');
    switch (payload.type) {
      case 'user_message':
        return event('codex.user_prompt', this.#withText ? { prompt: textIn(payload, 'message') } : {});
      case 'token_count':
        return this.#usage(payload.info).flatMap((usage) => event('codex.sse_event', usage));
      case 'function_call':
      case 'custom_tool_call':
        if (id !== undefined && this.#ids.isNew(id, this))
          this.#calls.begin(id, textIn(payload, 'name') ?? 'unknown', atMs);
        return [];
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const call = id === undefined ? undefined : this.#calls.end(id, atMs);
        if (call === undefined) return [];
        const { output } = payload;
        const success = isObject(output) && output.success === false ? false : undefined;
        const told = { tool_name: call.name, call_id: id, duration_ms: call.tookMs, success };
        return event('codex.tool_result', told);
      }
      default:
        return [];
    }
  }

  end(): readonly TranscriptEvent[] {
    return [];
  }

  /** The usage of the last call, once: Codex repeats it when it reports the limits of the account. */
  #usage(info: unknown): TranscriptEvent['attributes'][] {
    if (!isObject(info) || !isObject(info.last_token_usage)) return [];
    const total = JSON.stringify(info.total_token_usage ?? '');
    if (total === this.#total) return [];
    this.#total = total;
    // A fork begins with the totals of the session that it goes on from.
    if (total !== '""' && !this.#ids.isNew(`${this.#origin} ${total}`, this)) return [];
    const last = info.last_token_usage;
    return [
      {
        'event.kind': 'response.completed',
        model: this.#model,
        input_token_count: countIn(last, 'input_tokens'),
        output_token_count: countIn(last, 'output_tokens'),
        cached_token_count: countIn(last, 'cached_input_tokens'),
        reasoning_token_count: countIn(last, 'reasoning_output_tokens'),
      },
    ];
  }
}

export class GeminiReader implements TranscriptReader {
  readonly #withText: boolean;
  readonly #ids: KnownIds;
  #session: string | undefined;
  #prompt: string | undefined;
  #isSubagent = false;
  /** The answer that may grow. */
  #answer: { readonly id: string; readonly line: JsonObject; readonly atMs: number } | undefined;

  constructor(withText: boolean, ids: KnownIds) {
    this.#withText = withText;
    this.#ids = ids;
  }

  read(line: JsonObject, atMs: number): readonly TranscriptEvent[] {
    const session = textIn(line, 'sessionId');
    if (session !== undefined) {
      this.#session ??= session;
      this.#prompt ??= session;
      this.#isSubagent = line.kind === 'subagent';
      return [];
    }
    const id = textIn(line, 'id');
    if (id === undefined || !this.#ids.isNew(id, this)) return [];
    const before = this.#answer?.id === id ? [] : this.end();
    if (line.type === 'gemini') this.#answer = { id, line, atMs };
    return line.type === 'user' ? [...before, ...this.#ask(id, line, atMs)] : before;
  }

  end(): readonly TranscriptEvent[] {
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer === undefined) return [];
    const { line, atMs } = answer;
    const { tokens, toolCalls } = line;
    const responses = isObject(tokens)
      ? [
          this.#event('gemini_cli.api_response', atMs, {
            model: textIn(line, 'model'),
            input_token_count: countIn(tokens, 'input'),
            output_token_count: countIn(tokens, 'output'),
            cached_content_token_count: countIn(tokens, 'cached'),
            thoughts_token_count: countIn(tokens, 'thoughts'),
            tool_token_count: countIn(tokens, 'tool'),
          }),
        ]
      : [];
    const calls = (Array.isArray(toolCalls) ? toolCalls.filter(isObject) : []).map((call) => {
      const endMs = Date.parse(textIn(call, 'timestamp') ?? '');
      return this.#event('gemini_cli.tool_call', Number.isNaN(endMs) ? atMs : endMs, {
        function_name: textIn(call, 'name'),
        success: call.status === 'success',
      });
    });
    return [...responses, ...calls];
  }

  #ask(id: string, line: JsonObject, atMs: number): readonly TranscriptEvent[] {
    const parts = Array.isArray(line.content) ? line.content.filter(isObject) : [];
    // The results of tools come as words of the user; a subagent is asked by the agent.
    if (this.#isSubagent || parts.some((part) => 'functionResponse' in part)) return [];
    this.#prompt = id;
    const prompt = textIn(line, 'content') ?? parts.map((part) => textIn(part, 'text') ?? '').join('\n');
    return [this.#event('gemini_cli.user_prompt', atMs, this.#withText ? { prompt } : {})];
  }

  #event(name: string, atMs: number, attributes: TranscriptEvent['attributes']): TranscriptEvent {
    return {
      name,
      atMs,
      attributes: { 'session.id': this.#session, prompt_id: this.#prompt, ...attributes },
    };
  }
}

export function textIn(value: JsonObject | undefined, name: string): string | undefined {
  const text = value?.[name];
  return typeof text === 'string' && text !== '' ? text : undefined;
}

function countIn(value: JsonObject, name: string): number | undefined {
  const count = value[name];
  return typeof count === 'number' && Number.isFinite(count) && count >= 0 ? count : undefined;
}
