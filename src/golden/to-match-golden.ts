import { checkOptions, checkValue, kinds, type OptionKinds } from '../base/index.ts';
import { isObject } from '../json/index.ts';
import type { GhostResult, WireGhostResult } from '../orchestrator/index.ts';
import { compareWithGolden, type MatchOptions, toOutput } from './compare/index.ts';
import { GoldenMismatchError, type GoldenOutput, readGolden, writeGolden } from './file/index.ts';
import { checkProgram, type Program, updateProgram } from './program/index.ts';

const OPTIONS: OptionKinds<MatchOptions> = {
  update: kinds.boolean,
  twice: kinds.boolean,
  allowExpired: kinds.boolean,
  replayed: kinds.boolean,
};

/**
 * Asserts that a result matches a golden, see `compareWithGolden`; or that a program, which is run with its models and
 * MCP servers answered from the golden, does not depart from it. Throws on a mismatch, so it works in any test runner.
 *
 * @param result of `mcpGhost`, or its wire form; for goldens of other runners their output; or a program.
 * @throws GoldenMismatchError with the places that differ; the errors of `readGolden`.
 */
export async function toMatchGolden(
  result: GhostResult | WireGhostResult | GoldenOutput | Program,
  path: string,
  options: MatchOptions = {},
): Promise<void> {
  checkOptions(options, OPTIONS, 'toMatchGolden()');
  checkValue('the result of toMatchGolden()', result, kinds.object);
  const update = options.update ?? (process.env.UPDATE_GOLDENS === '1' || isRunnerUpdating());
  if (isProgram(result)) {
    const problem = update ? await updateProgram(path, result, options.twice === true) : undefined;
    if (problem !== undefined) throw new GoldenMismatchError(`${path} is not updated: ${problem}`);
  }
  const golden = await readGolden(path, { allowExpired: options.allowExpired === true || update });
  if (isProgram(result)) {
    const { departures, stderr } = await checkProgram(path, result);
    const messages = departures.map(({ kind, message }) => `\n  ${kind}: ${message}`);
    if (departures.some(({ kind }) => kind === 'exit')) messages.push(`\n${stderr}`);
    if (messages.length === 0) return;
    throw new GoldenMismatchError(
      `The program departs from the golden ${path} (UPDATE_GOLDENS=1 records it anew):${messages.join('')}`,
    );
  }
  const output = toOutput(result);
  if (update) {
    await writeGolden(path, { ...golden, golden_output: output });
    return;
  }
  const findings = compareWithGolden(golden, output, options);
  if (findings.length === 0) return;
  throw new GoldenMismatchError(
    `The result is not that of the golden ${path} (UPDATE_GOLDENS=1 takes it):`,
    findings,
  );
}

/** Whether vitest or jest was told to update its snapshots (`-u`). */
function isRunnerUpdating(): boolean {
  const shared = (globalThis as Record<symbol, unknown>)[Symbol.for('$$jest-matchers-object')];
  const state = isObject(shared) ? shared.state : undefined;
  const snapshots = isObject(state) ? state.snapshotState : undefined;
  return isObject(snapshots) && snapshots._updateSnapshot === 'all';
}

function isProgram(result: object): result is Program {
  return 'command' in result && Array.isArray(result.command);
}
