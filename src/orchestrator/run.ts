import type { Span } from '@opentelemetry/api';
import { chooseRecovery, type Recovery, recoveryPrompt } from './backtrack.ts';
import type { CircuitBreakers } from './breaker.ts';
import type { Budget } from './budget.ts';
import type { Catalogue } from './catalogue.ts';
import type { Conversation } from './conversation.ts';
import type { EventListener } from './events.ts';
import type { LoopDetector, LoopVerdict } from './loop-detector.ts';
import type { ModelCaller } from './model-caller.ts';
import type { ResolvedOptions } from './options.ts';
import {
  CONTINUE_REQUEST,
  EMPTY_ANSWER,
  finalAnswerRequest,
  LOOP_WARNING,
  MALFORMED_CALL,
} from './prompts.ts';
import {
  type Completion,
  type ModelTool,
  ProviderError,
  reasoningOf,
  type ToolCallPart,
  textOf,
  toolCallsOf,
  userText,
} from './providers/index.ts';
import { readResultTool } from './read-result-tool.ts';
import type { RunError, StopReason, ToolChainEntry } from './result.ts';
import type { ResultCap } from './result-cap.ts';
import type { RunTelemetry } from './telemetry.ts';
import type { CallReport, ToolRunner } from './tool-runner.ts';

const MAX_CONTINUATIONS = 3;

export interface RunParts {
  readonly options: ResolvedOptions;
  readonly conversation: Conversation;
  readonly caller: ModelCaller;
  readonly runner: ToolRunner;
  readonly budget: Budget;
  readonly breakers: CircuitBreakers;
  readonly loops: LoopDetector;
  readonly cap: ResultCap;
  readonly telemetry: RunTelemetry;
  readonly emit: EventListener;
  readonly span: Span;
  /** The tools as they are now; servers may change them at any time. */
  readonly catalogue: () => Promise<Catalogue>;
  readonly providerName: string;
}

/** How a run ended, and with what answer. */
export interface RunEnd {
  readonly stopReason: StopReason;
  readonly answer: string | null;
}

/**
 * The loop: ask the model, run the calls it wants, show it the results, until it answers or a limit is hit.
 *
 * Everything a failed call needs to be recovered from is put into the conversation as one message, so that the same
 * run takes the same course with every provider.
 */
export class GhostRun {
  readonly chain: ToolChainEntry[] = [];
  readonly errors: RunError[] = [];
  readonly #parts: RunParts;
  #iterations = 0;
  #backtracks = 0;
  #failedTurns = 0;
  #emptyAnswers = 0;
  readonly #cutTexts: string[] = [];
  #lastWords: { readonly text: string; readonly iteration: number } = { text: '', iteration: 0 };

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  get iterations(): number {
    return this.#iterations;
  }

  /** Attempts to recover: recovery prompts, one per failed call, and automatic retries. */
  get backtracks(): number {
    return this.#backtracks;
  }

  /** @throws the signal's reason when aborted; every other trouble ends in a `RunEnd`. */
  async run(): Promise<RunEnd> {
    const { options, emit, budget } = this.#parts;
    try {
      while (this.#iterations < options.maxIterations) {
        const spent = budget.exceeded;
        if (spent !== undefined) return this.#limit('budget', spent, this.#known());
        this.#iterations += 1;
        emit({ type: 'iteration_started', iteration: this.#iterations });
        const end = await this.#turn();
        if (end !== undefined) return end;
      }
      return await this.#answerNow(
        'max_iterations',
        `the limit of ${options.maxIterations} turns is reached`,
      );
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof ProviderError)) throw error;
      this.#fail(this.#parts.providerName, error.message);
      return { stopReason: 'provider_failed', answer: this.#known() };
    }
  }

  /** One turn of the model and the calls it asks for. */
  async #turn(): Promise<RunEnd | undefined> {
    const { conversation, caller, runner, cap } = this.#parts;
    const catalogue = await this.#parts.catalogue();
    const completion = await caller.nextTurn(offered(catalogue, cap), this.#iterations);
    conversation.push(completion.message);
    const words = textOf(completion.message.parts).trim();
    if (words !== '') this.#lastWords = { text: words, iteration: this.#iterations };
    const calls = toolCallsOf(completion.message);
    if (calls.length === 0) return await this.#withoutCalls(completion);
    this.#cutTexts.length = 0;
    const reasoning = reasoningBehind(completion);
    const reports = await runner.runTurn(calls, catalogue, this.#iterations, reasoning);
    conversation.push({ role: 'tool', parts: reports.map((report) => report.shown) });
    for (const report of reports) {
      this.chain.push(...report.entries);
      this.errors.push(...report.retried);
      this.#backtracks += report.retried.length;
    }
    const notices = await this.#backtrack(reports, calls, catalogue);
    const verdict = this.#watchLoops(reports, calls);
    if (verdict === 'warn') notices.push(LOOP_WARNING);
    if (notices.length > 0) conversation.push(userText(notices.join('\n\n')));
    if (verdict === 'stop')
      return await this.#answerNow('loop', 'the same call keeps giving the same result');
    return undefined;
  }

  /** An answer, or something that is none yet. */
  async #withoutCalls(completion: Completion): Promise<RunEnd | undefined> {
    const { conversation, caller } = this.#parts;
    const text = textOf(completion.message.parts);
    switch (completion.finishReason) {
      case 'pause':
        return undefined;
      case 'length':
        this.#cutTexts.push(text);
        if (this.#cutTexts.length > MAX_CONTINUATIONS) break;
        conversation.push(userText(CONTINUE_REQUEST));
        return undefined;
      case 'malformed_call':
        this.#fail(
          this.#parts.providerName,
          `The model's call could not be read (${completion.rawFinishReason})`,
          true,
        );
        conversation.push(userText(MALFORMED_CALL));
        return undefined;
      case 'context_length':
        if (await caller.compact()) return undefined;
        break;
      case 'content_filter':
        break;
      default:
        if (text.trim() !== '' || this.#cutTexts.length > 0) {
          return { stopReason: 'completed', answer: [...this.#cutTexts, text].join('').trim() };
        }
        this.#emptyAnswers += 1;
        if (this.#emptyAnswers > 1) break;
        conversation.push(userText(EMPTY_ANSWER));
        return undefined;
    }
    const reason = completion.rawFinishReason ?? completion.finishReason;
    this.#fail(this.#parts.providerName, `The model stopped without an answer (${reason})`);
    return {
      stopReason: 'model_stopped',
      answer: [...this.#cutTexts, text].join('').trim() || this.#known(),
    };
  }

  /** Records failures and finds, for each, a way to go on. */
  async #backtrack(
    reports: readonly CallReport[],
    calls: readonly ToolCallPart[],
    catalogue: Catalogue,
  ): Promise<string[]> {
    const { options, telemetry, breakers, emit } = this.#parts;
    const failed = reports.flatMap((report, index) => {
      const call = calls[index];
      return report.failure === undefined || call === undefined ? [] : [{ failure: report.failure, call }];
    });
    this.#failedTurns = failed.length === 0 ? 0 : this.#failedTurns + 1;
    if (!options.enableBacktracking) {
      for (const { failure } of failed) this.#note(failure.toolName, failure.message, null);
      return [];
    }
    const recoveries: Recovery[] = [];
    for (const { failure, call } of failed) {
      const alternatives = catalogue.alternativesTo(
        call.name,
        (tool) => breakers.state(tool.server, tool.tool.name) !== 'open',
      );
      const recovery = chooseRecovery(failure, this.#failedTurns, alternatives);
      recoveries.push(recovery);
      this.#backtracks += 1;
      this.#note(failure.toolName, failure.message, recovery.strategy);
      emit({
        type: 'backtrack',
        iteration: this.#iterations,
        toolName: failure.toolName,
        strategy: recovery.strategy,
      });
      await telemetry.step(
        'backtrack',
        {
          'observatory.recovery_action': recovery.strategy,
          'observatory.failure_kind': failure.kind,
          'observatory.failed_tool': failure.toolName,
        },
        () => Promise.resolve(),
      );
    }
    return recoveries.length === 0 ? [] : [recoveryPrompt(recoveries)];
  }

  #watchLoops(reports: readonly CallReport[], calls: readonly ToolCallPart[]): LoopVerdict {
    const { loops, emit, span } = this.#parts;
    let worst: LoopVerdict = 'fine';
    for (const [index, { trace }] of reports.entries()) {
      const name = calls[index]?.name ?? '';
      if (trace === undefined) continue;
      const verdict = loops.record(name, trace.argumentsText, trace.resultText, trace.readOnly);
      if (verdict === 'fine') continue;
      emit({ type: 'loop', toolName: name, decision: verdict });
      span.addEvent('loop', { 'gen_ai.tool.name': name, 'observatory.loop_decision': verdict });
      if (worst !== 'stop') worst = verdict;
    }
    return worst;
  }

  /** At a limit: one last turn without tools, to answer from what is known. */
  async #answerNow(reason: StopReason, why: string): Promise<RunEnd> {
    const { conversation, caller, budget, cap, options } = this.#parts;
    if (budget.exceeded !== undefined) return this.#limit(reason, why, this.#known());
    conversation.push(userText(finalAnswerRequest(why)));
    // The tools stay listed: a conversation that holds calls is refused without them.
    const tools = offered(await this.#parts.catalogue(), cap);
    try {
      const completion = await caller.nextTurn(tools, this.#iterations, 'none');
      conversation.push(completion.message);
      return this.#limit(reason, why, textOf(completion.message.parts).trim() || this.#known());
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof ProviderError)) throw error;
      this.#fail(this.#parts.providerName, error.message);
      return this.#limit(reason, why, this.#known());
    }
  }

  #limit(stopReason: StopReason, message: string, answer: string | null): RunEnd {
    this.#parts.emit({ type: 'limit_reached', reason: stopReason, message });
    this.#parts.span.addEvent('limit', { 'observatory.stop_reason': stopReason });
    this.#fail(this.#parts.options.namespace, `Stopped early: ${message}`);
    return { stopReason, answer };
  }

  /** What can be said without asking the model again: its last words, and the latest good result since. */
  #known(): string | null {
    const parts = [this.#lastWords.text];
    const latest = this.chain.findLast((entry) => entry.success);
    if (latest !== undefined && latest.iteration >= this.#lastWords.iteration) {
      parts.push(typeof latest.result === 'string' ? latest.result : JSON.stringify(latest.result));
    }
    return parts.filter((part) => part !== '').join('\n\n') || null;
  }

  #fail(toolName: string, error: string, recovering = false): void {
    if (recovering) this.#backtracks += 1;
    this.#note(toolName, error, recovering ? 'retry_with_modified_arguments' : null);
  }

  #note(toolName: string, error: string, recoveryAction: RunError['recoveryAction']): void {
    this.errors.push({ iteration: this.#iterations, toolName, error, recoveryAction });
  }
}

function offered(catalogue: Catalogue, cap: ResultCap): ModelTool[] {
  const tools = catalogue.definitions;
  return cap.hasStored ? [...tools, readResultTool] : [...tools];
}

/** Why the model made its calls: what it said, else what it thought. */
function reasoningBehind(completion: Completion): string {
  return textOf(completion.message.parts).trim() || reasoningOf(completion.message).trim();
}
