import { errorMessage, semconv } from '../base/index.ts';
import { withOwnSignal } from '../mcp-client/index.ts';
import { digest } from './compaction.ts';
import type { EventListener } from './events.ts';
import { PLAN_REQUEST, SUMMARY_REQUEST } from './prompts.ts';
import {
  type Completion,
  type CompletionOptions,
  type ModelMessage,
  type ModelTool,
  type Provider,
  ProviderError,
  scrubKeys,
  userText,
  visibleText,
} from './providers/index.ts';
import type { Session } from './session.ts';

/** Share of the context a summary is made at, so that the turn to come still fits. */
const COMPACT_AT = 0.8;
/** Share of the context the turns kept whole may fill. */
const KEEP_SHARE = 0.5;
/** Fewer turns are not worth a summary: where tools alone nearly fill the context, each turn would make one. */
const MIN_OLD_TURNS = 2;
const SUMMARY_MAX_TOKENS = 2_000;
const MAX_TRANSCRIPT_CHARS = 200_000;
const FALLBACK_SUMMARY_CHARS = 8_000;

/** Makes the model calls of a run: each with its span, its count in the budget, and room in the context. */
export class ModelCaller {
  readonly #session: Session;
  #compactions = 0;
  #retries = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  get compactions(): number {
    return this.#compactions;
  }

  /** Tries that failed and were made again. */
  get retries(): number {
    return this.#retries;
  }

  /** Asks for the next turn of the conversation. Makes room first when it has grown too long. */
  async nextTurn(
    tools: readonly ModelTool[],
    iteration: number,
    toolChoice?: CompletionOptions['toolChoice'],
  ): Promise<Completion> {
    const { conversation, options } = this.#session;
    if (options.conversationMemory && conversation.size > options.maxContextTokens * COMPACT_AT) {
      await this.compact(MIN_OLD_TURNS);
    }
    const messages = conversation.forModel(options.conversationMemory);
    try {
      const completion = await this.#call(messages, tools, { toolChoice }, iteration);
      if (options.conversationMemory) {
        conversation.countedInput(completion.usage?.inputTokens, conversation.length);
      }
      return completion;
    } catch (error) {
      // The provider knows best what fits: one more try with what can be spared taken out.
      const full = error instanceof ProviderError && error.kind === 'context_length';
      if (!full || !(await this.compact())) throw error;
      return await this.#call(
        conversation.forModel(options.conversationMemory),
        tools,
        { toolChoice },
        iteration,
      );
    }
  }

  /** Asks for a plan; nothing of it enters the conversation. */
  async plan(tools: readonly ModelTool[]): Promise<string> {
    const { conversation, options, telemetry, emit } = this.#session;
    return await telemetry.step(
      'plan',
      { [semconv.ATTR_GEN_AI_OPERATION_NAME]: 'plan', [semconv.ATTR_GEN_AI_AGENT_NAME]: options.namespace },
      async () => {
        const messages = [...conversation.forModel(true), userText(PLAN_REQUEST)];
        const { message } = await this.#call(messages, tools, { toolChoice: 'none' });
        const text = visibleText(message.parts).trim();
        emit({ type: 'plan', text });
        return text;
      },
    );
  }

  /**
   * Replaces older turns by a summary the model writes, or by a transcript in short where it cannot.
   * @returns false when there was nothing to summarize.
   */
  async compact(minOldTurns = 1): Promise<boolean> {
    const { conversation, options, telemetry, emit } = this.#session;
    const plan = conversation.planCompaction(options.keepTurns, options.maxContextTokens * KEEP_SHARE);
    const oldTurns = plan?.old.filter((message) => message.role === 'assistant').length ?? 0;
    if (plan === undefined || oldTurns < minOldTurns) return false;
    const messagesBefore = conversation.length;
    await telemetry.step('compaction', { 'observatory.messages_before': messagesBefore }, async (span) => {
      conversation.compact(plan, await this.#summarize(plan.old));
      span.setAttribute('observatory.messages_after', conversation.length);
    });
    this.#compactions += 1;
    emit({ type: 'compaction', messagesBefore, messagesAfter: conversation.length });
    return true;
  }

  async #summarize(old: readonly ModelMessage[]): Promise<string> {
    const { options, budget } = this.#session;
    const fallback = (): string => digest(old, FALLBACK_SUMMARY_CHARS);
    if (budget.exceeded !== undefined) return fallback();
    const room = Math.min(MAX_TRANSCRIPT_CHARS, options.maxContextTokens * 2);
    try {
      const { message } = await this.#call(
        [{ role: 'system', text: SUMMARY_REQUEST }, userText(digest(old, room))],
        [],
        { maxOutputTokens: SUMMARY_MAX_TOKENS },
      );
      return visibleText(message.parts).trim() || fallback();
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      return fallback();
    }
  }

  async #call(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
    extra: Pick<CompletionOptions, 'toolChoice' | 'maxOutputTokens'>,
    iteration?: number,
  ): Promise<Completion> {
    const { provider, model, options, telemetry, budget, emit, conversation } = this.#session;
    // Pieces of summaries and plans are no answer to show.
    const shown = iteration === undefined ? {} : { onDelta: deltaListener(emit, iteration) };
    const history = iteration === undefined ? undefined : conversation.history(options.conversationMemory);
    const completion = await telemetry.chat(
      messages,
      tools,
      true,
      () =>
        askProvider(provider, messages, tools, {
          model,
          temperature: options.temperature,
          maxOutputTokens: extra.maxOutputTokens ?? options.maxOutputTokens,
          ...(extra.toolChoice === undefined ? {} : { toolChoice: extra.toolChoice }),
          cachePrompt: iteration !== undefined,
          signal: options.signal,
          extraBody: options.extraBody,
          onRetry: ({ message, delayMs }) => {
            this.#retries += 1;
            emit({ type: 'model_retry', iteration: iteration ?? 0, error: message, delayMs });
          },
          ...shown,
        }),
      history,
    );
    budget.add(provider.name, completion.model ?? model, completion);
    return completion;
  }
}

/**
 * Asks a provider, which may be anybody's code: every error is a `ProviderError`, so is an invalid answer, and the
 * signal ends the wait whether the provider heeds it or not.
 */
async function askProvider(
  provider: Provider,
  messages: readonly ModelMessage[],
  tools: readonly ModelTool[],
  options: CompletionOptions,
): Promise<Completion> {
  const { signal } = options;
  const ask = async (): Promise<Completion> => await provider.createCompletion(messages, tools, options);
  try {
    const completion = await (signal === undefined ? ask() : withOwnSignal(signal, ask));
    if (Array.isArray(completion?.message?.parts)) return completion;
    throw new Error('createCompletion gave no message with parts');
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ProviderError) throw error;
    const fault = {
      kind: 'client',
      message: scrubKeys(errorMessage(error), undefined),
      retryable: false,
    } as const;
    throw new ProviderError(provider.name, fault, [], error);
  }
}

function deltaListener(emit: EventListener, iteration: number): NonNullable<CompletionOptions['onDelta']> {
  return ({ type, text }) =>
    emit({ type: type === 'text' ? 'text_delta' : 'reasoning_delta', iteration, text });
}
