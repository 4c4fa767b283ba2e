import { FailedCalls } from './failed-calls.ts';
import { LoopDetector, type LoopVerdict } from './loop-detector.ts';
import type { ModelCaller } from './model-caller.ts';
import type { OfferedTools } from './offered-tools.ts';
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
  reasoningText,
  type ToolCallPart,
  toolCallsOf,
  userText,
  visibleText,
} from './providers/index.ts';
import { readResultTool } from './read-result-tool.ts';
import type { StopReason } from './result.ts';
import type { ResultCap } from './result-cap.ts';
import type { Session } from './session.ts';
import type { CallReport, ToolRunner } from './tool-runner.ts';

const MAX_CONTINUATIONS = 3;

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
  readonly #session: Session;
  readonly #caller: ModelCaller;
  readonly #runner: ToolRunner;
  readonly #loops: LoopDetector;
  readonly #failedCalls: FailedCalls;
  #emptyAnswers = 0;
  readonly #cutTexts: string[] = [];

  constructor(session: Session, caller: ModelCaller, runner: ToolRunner) {
    this.#session = session;
    this.#caller = caller;
    this.#runner = runner;
    this.#loops = new LoopDetector(session.options.loop);
    this.#failedCalls = new FailedCalls(session);
  }

  /** @throws the signal's reason when aborted; every other trouble ends in a `RunEnd`. */
  async run(): Promise<RunEnd> {
    const { options, emit, budget, log, provider } = this.#session;
    try {
      while (log.iterations < options.maxIterations) {
        const spent = budget.exceeded;
        if (spent !== undefined) return this.#limit('budget', spent, log.known());
        log.iterations += 1;
        emit({ type: 'iteration_started', iteration: log.iterations });
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
      log.fail(provider.name, error.message);
      return { stopReason: 'provider_failed', answer: log.known() };
    }
  }

  /** One turn of the model and the calls it asks for. */
  async #turn(): Promise<RunEnd | undefined> {
    const { conversation, cap, log } = this.#session;
    const catalog = await this.#session.catalog();
    const completion = await this.#caller.nextTurn(offered(catalog, cap), log.iterations);
    conversation.push(completion.message);
    log.says(visibleText(completion.message.parts).trim());
    const calls = toolCallsOf(completion.message);
    if (calls.length === 0) return await this.#withoutCalls(completion);
    this.#cutTexts.length = 0;
    const reasoning = reasoningBehind(completion);
    const reports = await this.#runner.runTurn(calls, catalog, log.iterations, reasoning);
    conversation.push({ role: 'tool', parts: reports.map((report) => report.shown) });
    for (const report of reports) log.add(report);
    const notices = await this.#failedCalls.recover(reports, calls, catalog);
    const verdict = this.#watchLoops(reports, calls);
    if (verdict === 'warn') notices.push(LOOP_WARNING);
    if (notices.length > 0) conversation.push(userText(notices.join('\n\n')));
    if (verdict === 'stop')
      return await this.#answerNow('loop', 'the same call keeps giving the same result');
    return undefined;
  }

  /** An answer, or a reason to continue. */
  async #withoutCalls(completion: Completion): Promise<RunEnd | undefined> {
    const { conversation, log, provider } = this.#session;
    const text = visibleText(completion.message.parts);
    switch (completion.finishReason) {
      case 'pause':
        return undefined;
      case 'length':
        this.#cutTexts.push(text);
        if (this.#cutTexts.length > MAX_CONTINUATIONS) break;
        conversation.push(userText(CONTINUE_REQUEST));
        return undefined;
      case 'malformed_call':
        log.fail(provider.name, `The model's call could not be read (${completion.rawFinishReason})`, true);
        conversation.push(userText(MALFORMED_CALL));
        return undefined;
      case 'context_length':
        if (await this.#caller.compact()) return undefined;
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
    log.fail(provider.name, `The model stopped without an answer (${reason})`);
    return {
      stopReason: 'model_stopped',
      answer: [...this.#cutTexts, text].join('').trim() || log.known(),
    };
  }

  #watchLoops(reports: readonly CallReport[], calls: readonly ToolCallPart[]): LoopVerdict {
    const { emit, span } = this.#session;
    let worst: LoopVerdict = 'fine';
    for (const [index, { trace }] of reports.entries()) {
      const name = calls[index]?.name ?? '';
      if (trace === undefined) continue;
      const verdict = this.#loops.record(name, trace.argumentsText, trace.resultText, trace.readOnly);
      if (verdict === 'fine') continue;
      emit({ type: 'loop', toolName: name, decision: verdict });
      span.addEvent('loop', { 'gen_ai.tool.name': name, 'observatory.loop_decision': verdict });
      if (worst !== 'stop') worst = verdict;
    }
    return worst;
  }

  /** At a limit: one last turn without tools, to answer from what is known. */
  async #answerNow(reason: StopReason, why: string): Promise<RunEnd> {
    const { conversation, budget, cap, options, log, provider } = this.#session;
    if (budget.exceeded !== undefined) return this.#limit(reason, why, log.known());
    conversation.push(userText(finalAnswerRequest(why)));
    // The tools stay listed: a conversation that holds calls is refused without them.
    const tools = offered(await this.#session.catalog(), cap);
    try {
      const completion = await this.#caller.nextTurn(tools, log.iterations, 'none');
      conversation.push(completion.message);
      return this.#limit(reason, why, visibleText(completion.message.parts).trim() || log.known());
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof ProviderError)) throw error;
      log.fail(provider.name, error.message);
      return this.#limit(reason, why, log.known());
    }
  }

  #limit(stopReason: StopReason, message: string, answer: string | null): RunEnd {
    const { emit, span, log, options } = this.#session;
    emit({ type: 'limit_reached', reason: stopReason, message });
    span.addEvent('limit', { 'observatory.stop_reason': stopReason });
    log.fail(options.namespace, `Stopped early: ${message}`);
    return { stopReason, answer };
  }
}

function offered(catalog: OfferedTools, cap: ResultCap): ModelTool[] {
  const tools = catalog.definitions;
  return cap.hasStored ? [...tools, readResultTool] : [...tools];
}

/** Why the model made its calls: what it said, else what it thought. */
function reasoningBehind(completion: Completion): string {
  return visibleText(completion.message.parts).trim() || reasoningText(completion.message.parts).trim();
}
