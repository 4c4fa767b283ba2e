/**
 * The neutral conversation that every provider's wire form is written from and read into.
 *
 * Terms: a *message* is one turn; its *parts* are what it says. A *tool call* is the model's request to run a tool, a
 * *tool result* the answer to exactly one call. All results of one assistant turn are in ONE tool message, in the
 * order of the calls, so that nothing that works on whole messages can separate a call from its result.
 */
import type { JsonObject } from '../../json/index.ts';

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  /** The provider marked this text as a refusal. */
  readonly isRefusal?: true | undefined;
  /** OpenAI's label of intermediate or final text, returned in the next request. */
  readonly phase?: string | undefined;
  /** Gemini's signature of this part, returned verbatim in the next request. */
  readonly thoughtSignature?: string | undefined;
}

export interface ImagePart {
  readonly type: 'image';
  readonly mimeType: string;
  /** The bytes in base64. */
  readonly data: string;
}

/** Reasoning the model showed. `raw` is the provider's own block, signature included, returned verbatim to it alone. */
export interface ReasoningPart {
  readonly type: 'reasoning';
  /** Empty where the provider shows none of it: redacted or encrypted. */
  readonly text: string;
  /** In semconv words: `openai`, `anthropic`, `gcp.gemini`. */
  readonly provider: string;
  readonly raw: unknown;
}

/** Any other block of a provider (server tools, executable code), returned verbatim to that provider alone. */
export interface OpaquePart {
  readonly type: 'opaque';
  readonly provider: string;
  readonly raw: unknown;
}

/** Arguments the model wrote that are not a JSON object. */
export interface InvalidArguments {
  /** What the model wrote. */
  readonly text: string;
  /** What is wrong with it. */
  readonly reason: string;
}

export interface ToolCallPart {
  readonly type: 'tool_call';
  readonly id: string;
  /** Name as the model wrote it. */
  readonly name: string;
  /** Arguments; empty when `invalidArguments` is set. */
  readonly arguments: JsonObject;
  readonly invalidArguments?: InvalidArguments | undefined;
  /** The output limit cut the answer off in this call, whose arguments may not be all that the model meant. */
  readonly isCut?: true | undefined;
  /** True when the provider gave no id and the reader made this one up; it is not sent back. */
  readonly idAssigned?: boolean | undefined;
  /** Gemini's signature of this part, returned verbatim in the next request. */
  readonly thoughtSignature?: string | undefined;
}

export interface ToolResultPart {
  readonly type: 'tool_result';
  /** Id of the call this answers. */
  readonly id: string;
  /** Name of the tool as the model wrote it. */
  readonly name: string;
  readonly content: readonly (TextPart | ImagePart)[];
  /** The result as a JSON value, for providers that take one. It must say the same as `content`. */
  readonly structured?: unknown;
  readonly isError: boolean;
  /** As on the call: the id is ours, not the provider's. */
  readonly idAssigned?: boolean | undefined;
}

export interface SystemMessage {
  readonly role: 'system';
  readonly text: string;
}

export interface UserMessage {
  readonly role: 'user';
  readonly parts: readonly (TextPart | ImagePart)[];
}

export type AssistantPart = TextPart | ReasoningPart | OpaquePart | ToolCallPart | ImagePart;

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly parts: readonly AssistantPart[];
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly parts: readonly ToolResultPart[];
}

export type ModelMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export function userText(text: string): UserMessage {
  return { role: 'user', parts: [{ type: 'text', text }] };
}

/** The calls of an assistant message, in order. */
export function listToolCalls(message: AssistantMessage): ToolCallPart[] {
  return message.parts.filter((part) => part.type === 'tool_call');
}

/** The visible text of parts: text joined as it stands, without reasoning. */
export function visibleText(parts: readonly { readonly type: string }[]): string {
  let text = '';
  for (const part of parts) if (part.type === 'text') text += (part as TextPart).text;
  return text;
}

/** The reasoning a model showed, joined with blank lines. */
export function reasoningText(parts: readonly { readonly type: string }[]): string {
  const texts: string[] = [];
  for (const part of parts) {
    if (part.type !== 'reasoning') continue;
    const { text } = part as ReasoningPart;
    if (text !== '') texts.push(text);
  }
  return texts.join('\n\n');
}
