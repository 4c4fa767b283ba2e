/** What `mcp-observatory/record` and `/replay` do, as the environment tells them. */
import { basename, extname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { nodeProblem, ObservatoryError } from '../../base/index.ts';
import { recordProgram } from './record-program.ts';
import { replayProgram } from './replay-program.ts';
import { say } from './say.ts';
import { watchWorker } from './workers.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Records this process to the golden that `MCP_OBSERVATORY_GOLDEN` names. A program starts even if that fails. */
export function recordThisProgram(env: Environment): void {
  const problem = nodeProblem();
  if (!isMainThread) watchWorker();
  else if (problem === undefined) recordProgram(pathIn(env));
  else say(`${problem}; this process is not recorded`);
}

/**
 * Answers this process from the golden that `MCP_OBSERVATORY_GOLDEN` names, but for what `MCP_OBSERVATORY_LIVE` names.
 * @throws ObservatoryError `INVALID_OPTION`, and the errors of `readGolden`: without a golden nothing may run
 */
export async function replayThisProgram(env: Environment): Promise<void> {
  const { MCP_OBSERVATORY_LIVE: live, MCP_OBSERVATORY_REPORTS: reports, MCP_OBSERVATORY_LEARN: learn } = env;
  if (live !== undefined && live !== '' && live !== 'tools' && live !== 'model')
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Expected MCP_OBSERVATORY_LIVE to be tools or model, got ${live}`,
    );
  await replayProgram(pathIn(env), {
    live: live === '' ? undefined : live,
    reports: reports === '' ? undefined : reports,
    learn: learn === '1',
  });
}

/** By default `goldens/`, the name of the program, `.json`. */
function pathIn({ MCP_OBSERVATORY_GOLDEN: path }: Environment): string {
  if (path !== undefined && path !== '') return path;
  const [, script = 'program'] = process.argv;
  return join('goldens', `${basename(script, extname(script))}.json`);
}
