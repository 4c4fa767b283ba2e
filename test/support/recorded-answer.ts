/** Reads what a recorded answer says straight from the recording, without the code under test. */
import { type Json, type Recording, sseEvents } from './recordings.ts';

interface Counts {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number };
}

interface OpenAIMessage {
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly index?: number;
    readonly id?: string;
    readonly function?: { readonly name?: string; readonly arguments?: string };
  }[];
}

interface OpenAIEvent {
  readonly usage?: Counts | null;
  readonly choices?: readonly { readonly message?: OpenAIMessage; readonly delta?: OpenAIMessage }[];
}

interface AnthropicBlock {
  readonly type: string;
  readonly text: string;
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

interface AnthropicEvent {
  readonly index?: number;
  readonly message?: { readonly usage?: Json };
  readonly usage?: Json;
  readonly content?: readonly AnthropicBlock[];
  readonly content_block?: AnthropicBlock;
  readonly delta?: { readonly type?: string; readonly text?: string; readonly partial_json?: string };
}

interface GeminiEvent {
  readonly usageMetadata?: {
    readonly promptTokenCount: number;
    readonly toolUsePromptTokenCount?: number;
    readonly candidatesTokenCount?: number;
    readonly thoughtsTokenCount?: number;
    readonly cachedContentTokenCount?: number;
  };
  readonly candidates?: readonly {
    readonly content?: {
      readonly parts?: readonly {
        readonly text?: string;
        readonly thought?: boolean;
        readonly functionCall?: {
          readonly id?: string;
          readonly name?: string;
          readonly args?: unknown;
          readonly partialArgs?: readonly { readonly jsonPath: string; readonly stringValue: string }[];
        };
      }[];
    };
  }[];
}

export interface Said {
  text: string;
  calls: { id: string | undefined; name: string; arguments: unknown }[];
  usage: (number | undefined)[];
}

export function said(recording: Recording): Said {
  const { body, sse } = recording.response;
  const events = sse === undefined ? [body as Json] : sseEvents(sse);
  if (recording.api === 'openai') return saidByOpenAI(events);
  if (recording.api === 'anthropic') return saidByAnthropic(events);
  return saidByGemini(events);
}

function saidByOpenAI(events: Json[]): Said {
  const found: Said = { text: '', calls: [], usage: [] };
  const pieces: string[] = [];
  for (const event of events as OpenAIEvent[]) {
    const usage = event.usage;
    if (usage) {
      found.usage = [
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.prompt_tokens_details?.cached_tokens,
        usage.completion_tokens_details?.reasoning_tokens,
      ];
    }
    const choice = event.choices?.[0];
    const message = choice?.message ?? choice?.delta;
    found.text += message?.content ?? '';
    for (const [at, call] of (message?.tool_calls ?? []).entries()) {
      const index = call.index ?? at;
      found.calls[index] ??= { id: call.id, name: call.function?.name ?? '', arguments: undefined };
      pieces[index] = (pieces[index] ?? '') + (call.function?.arguments ?? '');
    }
  }
  for (const [index, call] of found.calls.entries()) call.arguments = JSON.parse(pieces[index] || '{}');
  return found;
}

function saidByAnthropic(events: Json[]): Said {
  const found: Said = { text: '', calls: [], usage: [] };
  let usage: Json = {};
  const calls = new Map<number, { id: string; name: string; json: string; input: unknown }>();
  for (const [at, event] of (events as AnthropicEvent[]).entries()) {
    usage = { ...usage, ...event.message?.usage, ...event.usage };
    for (const [index, block] of (event.content ?? []).entries()) {
      if (block.type === 'text') found.text += block.text;
      if (block.type === 'tool_use')
        calls.set(index, { id: block.id, name: block.name, json: '', input: block.input });
    }
    const block = event.content_block;
    if (block?.type === 'text') found.text += block.text;
    if (block?.type === 'tool_use') {
      calls.set(event.index ?? at, { id: block.id, name: block.name, json: '', input: block.input });
    }
    if (event.delta?.type === 'text_delta') found.text += event.delta.text;
    const open = calls.get(event.index ?? at);
    if (open && event.delta?.type === 'input_json_delta') open.json += event.delta.partial_json;
  }
  found.calls = [...calls.values()].map(({ id, name, json, input }) => ({
    id,
    name,
    arguments: json === '' ? input : JSON.parse(json),
  }));
  const count = (key: string) => (usage[key] as number | null | undefined) ?? undefined;
  const [read, write] = [count('cache_read_input_tokens'), count('cache_creation_input_tokens')];
  found.usage = [
    (count('input_tokens') ?? 0) + (read ?? 0) + (write ?? 0),
    count('output_tokens'),
    read,
    (usage.output_tokens_details as { thinking_tokens?: number } | undefined)?.thinking_tokens,
  ];
  return found;
}

function saidByGemini(events: Json[]): Said {
  const found: Said = { text: '', calls: [], usage: [] };
  for (const event of events as GeminiEvent[]) {
    const usage = event.usageMetadata;
    if (usage) {
      const output = usage.candidatesTokenCount ?? usage.thoughtsTokenCount;
      found.usage = [
        usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0),
        output === undefined
          ? undefined
          : (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
        usage.cachedContentTokenCount,
        usage.thoughtsTokenCount,
      ];
    }
    for (const part of event.candidates?.[0]?.content?.parts ?? []) {
      if (part.text !== undefined && !part.thought) found.text += part.text;
      const call = part.functionCall;
      if (call?.name !== undefined) {
        found.calls.push({ id: call.id, name: call.name, arguments: call.args ?? {} });
      }
      // The recorded pieces are all strings one level deep.
      const open = found.calls.at(-1)?.arguments as Record<string, string> | undefined;
      for (const { jsonPath, stringValue } of call?.partialArgs ?? []) {
        if (open !== undefined) open[jsonPath.slice(2)] = (open[jsonPath.slice(2)] ?? '') + stringValue;
      }
    }
  }
  return found;
}
