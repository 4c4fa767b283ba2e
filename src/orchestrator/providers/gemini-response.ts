import type {
  Candidate,
  FunctionCall,
  GenerateContentResponse,
  GenerateContentResponseUsageMetadata,
  Part,
} from '@google/genai';
import type { TokenUsage } from '../../signals/index.ts';
import type { AnswerDelta, AssistantPart, FinishReason } from '../../wire/index.ts';
import { checkArguments } from '../../wire/index.ts';
import { PartialCall } from './gemini-partial-args.ts';
import type { ParsedResponse } from './send.ts';

/** The fields of a response this package reads; the SDK's class adds getters that drop signatures. */
export type GeminiResponse = Pick<
  GenerateContentResponse,
  'candidates' | 'usageMetadata' | 'modelVersion' | 'responseId' | 'promptFeedback'
>;

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  LANGUAGE: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  MALFORMED_FUNCTION_CALL: 'malformed_call',
  UNEXPECTED_TOOL_CALL: 'malformed_call',
  TOO_MANY_TOOL_CALLS: 'malformed_call',
  CONTINUATION: 'pause',
};

export function fromGeminiResponse(response: GeminiResponse): ParsedResponse {
  const candidate = response.candidates?.[0];
  const parts: AssistantPart[] = [];
  let assigned = 0;
  for (const part of candidate?.content?.parts ?? []) {
    const read = toPart(part, () => `call_${response.responseId ?? 'gemini'}_${assigned++}`);
    parts.push(read);
  }
  const blocked = response.promptFeedback?.blockReason;
  const raw: string | undefined = candidate?.finishReason ?? blocked ?? undefined;
  const reason = raw === undefined ? undefined : FINISH_REASONS[raw];
  const called = parts.some((part) => part.type === 'tool_call');
  return {
    message: { role: 'assistant', parts },
    finishReason:
      called && reason === 'stop' ? 'tool_calls' : (reason ?? (blocked ? 'content_filter' : 'other')),
    rawFinishReason: raw,
    usage: geminiUsage(response.usageMetadata),
    model: response.modelVersion,
    responseId: response.responseId,
  };
}

function toPart(part: Part, newId: () => string): AssistantPart {
  const signature = part.thoughtSignature === undefined ? {} : { thoughtSignature: part.thoughtSignature };
  if (part.functionCall !== undefined) {
    const { id, name, args } = part.functionCall;
    const identity = id === undefined || id === '' ? { id: newId(), idAssigned: true } : { id };
    return { type: 'tool_call', ...identity, name: name ?? '', ...checkArguments(args), ...signature };
  }
  if (part.thought === true && part.text !== undefined) {
    return { type: 'reasoning', text: part.text, provider: 'gcp.gemini', raw: part };
  }
  if (part.text !== undefined) return { type: 'text', text: part.text, ...signature };
  if (part.inlineData?.data !== undefined && part.thoughtSignature === undefined) {
    const { mimeType, data } = part.inlineData;
    if (mimeType?.startsWith('image/')) return { type: 'image', mimeType, data };
  }
  return { type: 'opaque', provider: 'gcp.gemini', raw: part };
}

/**
 * Gemini counts thoughts beside the answer and tool-use prompts beside the prompt; semconv counts both in.
 * Worked: prompt 393, answer 28, thoughts 26 is 393 input and 54 output tokens, 26 of them reasoning.
 */
export function geminiUsage(usage: GenerateContentResponseUsageMetadata | undefined): TokenUsage | undefined {
  if (usage === undefined) return undefined;
  const { candidatesTokenCount, thoughtsTokenCount } = usage;
  return {
    inputTokens: sum(usage.promptTokenCount, usage.toolUsePromptTokenCount),
    outputTokens: sum(candidatesTokenCount, thoughtsTokenCount),
    cacheReadTokens: usage.cachedContentTokenCount,
    reasoningTokens: thoughtsTokenCount,
  };
}

function sum(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined && second === undefined ? undefined : (first ?? 0) + (second ?? 0);
}

/** Puts the chunks of a stream together; usage in each chunk is a running total, so the last one counts. */
export class GeminiStream {
  readonly #parts: PartInProgress[] = [];
  #candidate: Candidate | undefined;
  #response: GeminiResponse = {};

  /** @returns what the chunk adds to the visible answer. */
  push(chunk: GeminiResponse): AnswerDelta[] {
    this.#response = {
      usageMetadata: chunk.usageMetadata ?? this.#response.usageMetadata,
      modelVersion: chunk.modelVersion ?? this.#response.modelVersion,
      responseId: this.#response.responseId ?? chunk.responseId,
      promptFeedback: chunk.promptFeedback ?? this.#response.promptFeedback,
    } as GeminiResponse;
    const candidate = chunk.candidates?.[0];
    if (candidate === undefined) return [];
    const finishReason = candidate.finishReason ?? this.#candidate?.finishReason;
    this.#candidate = { ...this.#candidate, ...candidate };
    if (finishReason !== undefined) this.#candidate.finishReason = finishReason;
    const deltas: AnswerDelta[] = [];
    for (const part of candidate.content?.parts ?? []) {
      this.#pushPart(part);
      if (part.text) deltas.push({ type: part.thought === true ? 'reasoning' : 'text', text: part.text });
    }
    return deltas;
  }

  /** The call whose arguments are still arriving, and where its part stands. */
  #open: { readonly call: PartialCall; readonly at: number } | undefined;

  #pushCall(part: Part, call: FunctionCall): void {
    if (this.#open !== undefined && call.name === undefined) {
      const { call: open, at } = this.#open;
      if (!open.push(call)) this.#open = undefined;
      this.#parts[at] = { part: { ...this.#parts[at]?.part, functionCall: open.call }, more: [] };
      return;
    }
    const open = call.willContinue === true ? new PartialCall(call) : undefined;
    this.#open = open === undefined ? undefined : { call: open, at: this.#parts.length };
    this.#parts.push({ part: open === undefined ? part : { ...part, functionCall: open.call }, more: [] });
  }

  /** Text grows in the part before, but a signed part stays as it came: the signature holds for that part alone. */
  #pushPart(part: Part): void {
    if (part.functionCall !== undefined) {
      this.#pushCall(part, part.functionCall);
      return;
    }
    const last = this.#parts.at(-1);
    if (
      last !== undefined &&
      isPlainText(part) &&
      isPlainText(last.part) &&
      part.thought === last.part.thought
    ) {
      last.more.push(part.text ?? '');
      return;
    }
    this.#parts.push({ part, more: [] });
  }

  get isComplete(): boolean {
    return (
      this.#candidate?.finishReason !== undefined || this.#response.promptFeedback?.blockReason !== undefined
    );
  }

  toResponse(): GeminiResponse {
    if (this.#candidate === undefined) return this.#response;
    const parts = this.#parts.map(({ part, more }) =>
      more.length === 0 ? part : { ...part, text: (part.text ?? '') + more.join('') },
    );
    return {
      ...this.#response,
      candidates: [{ ...this.#candidate, content: { role: 'model', parts } }],
    };
  }
}

interface PartInProgress {
  readonly part: Part;
  readonly more: string[];
}

function isPlainText(part: Part): boolean {
  return part.text !== undefined && part.thoughtSignature === undefined && part.functionCall === undefined;
}
