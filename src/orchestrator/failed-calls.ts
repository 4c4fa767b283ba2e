import { chooseRecovery, type Recovery, recoveryPrompt } from './backtrack.ts';
import type { OfferedTools } from './offered-tools.ts';
import type { ToolCallPart } from './providers/index.ts';
import type { Session } from './session.ts';
import type { CallReport } from './tool-runner.ts';

/** The failed calls of a run, turn by turn, and the ways to go on after them. */
export class FailedCalls {
  readonly #session: Session;
  /** Turns in a row with a failed call. */
  #failedTurns = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Records the failed calls of a turn and finds, for each, a way to go on.
   * @returns the note for the model about them.
   */
  async recover(
    reports: readonly CallReport[],
    calls: readonly ToolCallPart[],
    catalog: OfferedTools,
  ): Promise<string[]> {
    const { options, telemetry, breakers, emit, log } = this.#session;
    const failed = reports.flatMap((report, index) => {
      const call = calls[index];
      return report.failure === undefined || call === undefined ? [] : [{ failure: report.failure, call }];
    });
    this.#failedTurns = failed.length === 0 ? 0 : this.#failedTurns + 1;
    if (!options.enableBacktracking) {
      for (const { failure } of failed) log.note(failure.toolName, failure.message, null);
      return [];
    }
    const recoveries: Recovery[] = [];
    for (const { failure, call } of failed) {
      const alternatives = catalog.alternativesTo(
        call.name,
        (tool) => breakers.state(tool.server, tool.tool.name) !== 'open',
      );
      const recovery = chooseRecovery(failure, this.#failedTurns, alternatives);
      recoveries.push(recovery);
      log.backtracks += 1;
      log.note(failure.toolName, failure.message, recovery.strategy);
      emit({
        type: 'backtrack',
        iteration: log.iterations,
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
}
