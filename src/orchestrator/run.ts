import { errorMessage, semconv } from '../base/index.ts';
import { beginningOfJson } from '../json/index.ts';
import { type Conflict, conflictNotice } from './conflicts.ts';
import { followPlan, type PlanStep } from './declared-plan.ts';
import { FailedCalls } from './failed-calls.ts';
import { looksFailedNotice } from './looks-failed.ts';
import { LoopDetector, type LoopVerdict } from './loop-detector.ts';
import type { ModelCaller } from './model-caller.ts';
import { ModelCalls } from './model-calls.ts';
import type { OfferedTools } from './offered-tools.ts';
import {
  CONTINUE_REQUEST,
  EMPTY_ANSWER,
  finalAnswerRequest,
  LOOP_WARNING,
  MALFORMED_CALL,
  NOTICES,
} from './prompts.ts';
import {
  type Completion,
  listToolCalls,
  type ModelTool,
  ProviderError,
  reasoningText,
  type ToolCallPart,
  userText,
  visibleText,
} from './providers/index.ts';
import type { StopReason } from './result.ts';
import { readResultTool } from './result-cap.ts';
import type { Session } from './session.ts';
import type { CallReport, ToolRunner } from './tool-runner.ts';

const MAX_CONTINUATIONS = 3;
/** Characters of a planned call's arguments that the model is shown. They may hold whole results. */
const MAX_TOLD_ARGUMENTS = 10_000;

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
  readonly #calls = new ModelCalls();
  #emptyAnswers = 0;
  readonly #cutTexts: string[] = [];

  constructor(session: Session, caller: ModelCaller, runner: ToolRunner) {
    this.#session = session;
    this.#caller = caller;
    this.#runner = runner;
    this.#loops = new LoopDetector(session.options.loop);
    this.#failedCalls = new FailedCalls(session);
  }

  /** Every trouble with the model, the tools or the signal ends in a `RunEnd`. */
  async run(): Promise<RunEnd> {
    const { options, emit, budget, log } = this.#session;
    try {
      if (typeof options.plan === 'object') await this.#followPlan(options.plan);
      while (log.iterations < options.maxIterations) {
        options.signal?.throwIfAborted();
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
      if (options.signal?.aborted === true) return this.#aborted(options.signal.reason);
      if (!(error instanceof ProviderError)) throw error;
      log.fail(this.#session.provider.name, error.message);
      return { stopReason: 'provider_failed', answer: log.known() };
    }
  }

  /** One turn of the model and the calls it asks for. */
  async #turn(): Promise<RunEnd | undefined> {
    const { conversation, log } = this.#session;
    const { completion, catalog } = await this.#ask();
    const message = this.#calls.settle(completion);
    conversation.push(message);
    log.says(visibleText(message.parts).trim());
    const calls = listToolCalls(message);
    if (calls.length === 0) return await this.#withoutCalls(completion);
    this.#cutTexts.length = 0;
    const reasoning = reasoningBehind(completion);
    const reports = await this.#runner.runTurn(calls, catalog, log.iterations, reasoning);
    conversation.push({ role: 'tool', parts: reports.map((report) => report.shown) });
    const conflicts: Conflict[] = [];
    for (const report of reports) conflicts.push(...(await log.add(report)));
    this.#session.options.signal?.throwIfAborted();
    const notices = await this.#failedCalls.recover(reports, calls, catalog);
    const verdict = this.#watchLoops(reports, calls);
    const looking = reports.flatMap(({ entries }) => entries.filter((entry) => entry.looksFailed === true));
    if (looking.length > 0) notices.push(looksFailedNotice(looking.map(({ toolName }) => toolName)));
    if (conflicts.length > 0) notices.push(conflictNotice(conflicts));
    if (verdict === 'warn') notices.push(LOOP_WARNING);
    if (notices.length > 0) conversation.push(userText(notices.join('\n\n')));
    if (verdict === 'stop')
      return await this.#answerNow('loop', 'the same call keeps giving the same result');
    return undefined;
  }

  /** Asks the model, and the next provider when one fails for good. */
  async #ask(
    toolChoice?: 'none',
  ): Promise<{ readonly completion: Completion; readonly catalog: OfferedTools }> {
    const { options, providers, emit, log } = this.#session;
    for (;;) {
      const catalog = await this.#session.catalog();
      try {
        const tools = offered(catalog, this.#session);
        return { completion: await this.#caller.nextTurn(tools, log.iterations, toolChoice), catalog };
      } catch (error) {
        const from = this.#session.provider.name;
        const isOver = options.signal?.aborted === true || !(error instanceof ProviderError);
        if (isOver || !providers.failOver()) throw error;
        const { message } = error as ProviderError;
        log.note(from, message, 'other_provider');
        emit({ type: 'provider_changed', from, to: this.#session.provider.name, error: message });
      }
    }
  }

  /** Makes the calls of a declared plan; the model then sees their results as a part of its task. */
  async #followPlan(plan: readonly PlanStep[]): Promise<void> {
    const { conversation, log, options } = this.#session;
    const told: string[] = [];
    log.iterations += 1;
    const isWhole = await followPlan(plan, async (tool, args) => {
      options.signal?.throwIfAborted();
      const catalog = await this.#session.catalog();
      const report = await this.#runner.runNamed(tool, args, catalog, 'declared by the plan');
      await log.add(report);
      const { failure } = report;
      if (failure !== undefined) log.note(failure.toolName, failure.message, null);
      const [shown] = report.shown.content;
      const text = shown?.type === 'text' ? shown.text : '';
      const ending = failure === undefined ? 'returned' : 'failed';
      const given = beginningOfJson(args, MAX_TOLD_ARGUMENTS);
      told.push(`${told.length + 1}. ${tool} ${given} ${ending}: ${text}`);
      return { success: failure === undefined, result: report.entries.at(-1)?.result };
    });
    const end = isWhole ? '' : '\nThe plan ended there, because this call failed.';
    conversation.push(userText(`${NOTICES.plan}\n${told.join('\n')}${end}`));
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
    const { emit, span, log } = this.#session;
    let worst: LoopVerdict = 'fine';
    for (const [index, { trace }] of reports.entries()) {
      const name = calls[index]?.name ?? '';
      if (trace === undefined) continue;
      const verdict = this.#loops.record(log.iterations, name, trace);
      if (verdict === 'fine') continue;
      emit({ type: 'loop', toolName: name, decision: verdict });
      span.addEvent('loop', { [semconv.ATTR_GEN_AI_TOOL_NAME]: name, 'observatory.loop_decision': verdict });
      if (worst !== 'stop') worst = verdict;
    }
    return worst;
  }

  /** At a limit: one last turn without tools, to answer from what is known. */
  async #answerNow(reason: StopReason, why: string): Promise<RunEnd> {
    const { conversation, budget, options, log } = this.#session;
    if (budget.exceeded !== undefined) return this.#limit(reason, why, log.known());
    conversation.push(userText(finalAnswerRequest(why)));
    try {
      // The tools stay listed: a conversation that holds calls is refused without them.
      const { completion } = await this.#ask('none');
      conversation.push(completion.message);
      return this.#limit(reason, why, visibleText(completion.message.parts).trim() || log.known());
    } catch (error) {
      if (options.signal?.aborted === true) return this.#aborted(options.signal.reason);
      if (!(error instanceof ProviderError)) throw error;
      log.fail(this.#session.provider.name, error.message);
      return this.#limit(reason, why, log.known());
    }
  }

  /** The caller's signal fired: the run ends with what is known, and says why. */
  #aborted(reason: unknown): RunEnd {
    const { log } = this.#session;
    return this.#limit('aborted', errorMessage(reason), log.known());
  }

  #limit(stopReason: StopReason, message: string, answer: string | null): RunEnd {
    const { emit, span, log, options } = this.#session;
    emit({ type: 'limit_reached', reason: stopReason, message });
    span.addEvent('limit', { 'observatory.stop_reason': stopReason });
    log.fail(options.namespace, `Stopped early: ${message}`);
    return { stopReason, answer };
  }
}

/** The tools of the servers, and those that read what results left out, once there is something to read. */
function offered(catalog: OfferedTools, { cap, resources }: Session): ModelTool[] {
  const { tool } = resources;
  return [
    ...catalog.definitions,
    ...(cap.hasStored ? [readResultTool] : []),
    ...(tool === undefined ? [] : [tool]),
  ];
}

/** Why the model made its calls: what it said, else what it thought. */
function reasoningBehind(completion: Completion): string {
  return visibleText(completion.message.parts).trim() || reasoningText(completion.message.parts).trim();
}
