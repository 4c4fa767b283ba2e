/** `mcp-observatory gate replay`: the decisions of recorded runs, made again. */
import { snakeKeys } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import { type RepeatedDecision, replayTrace } from '../policy/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from './command-line/index.ts';
import { printableLine } from './terminal/index.ts';

/** Replays each trace; exit code 1 when a decision is another one than recorded. */
export async function runGateReplay(args: readonly string[], io: CommandIo): Promise<number> {
  const options = {
    policy: { type: 'string' },
    allowlist: { type: 'string' },
    json: { type: 'boolean' },
  } as const;
  const { values, positionals } = readFlags(args, options, true);
  if (positionals.length === 0)
    throw usageError("'gate replay' needs a TRACE: a run-*.jsonl of the audit trail");
  let exitCode = EXIT_OK;
  for (const path of positionals) {
    const key = io.env.SAFE_AUDIT_KEY;
    const replay = await replayTrace(path, { key, policy: values.policy ?? values.allowlist });
    const { runId, decisions, firstDifference } = replay;
    if (firstDifference !== null) exitCode = EXIT_FAILED;
    if (values.json === true) {
      for (const { recorded, repeated, ...rest } of decisions)
        print(io, { run_id: runId, ...snakeKeys(rest), recorded, repeated });
      continue;
    }
    const counts = (['same', 'different', 'not_repeated'] as const)
      .map(
        (word) => `${decisions.filter(({ outcome }) => outcome === word).length} ${word.replace('_', ' ')}`,
      )
      .join(', ');
    io.stdout.writeLine(printableLine(`${path}: ${counts}`));
    for (const decision of decisions) {
      if (decision.outcome === 'not_repeated')
        io.stdout.writeLine(printableLine(`  ${findPlace(decision)}: ${decision.why}`));
    }
    if (firstDifference === null) continue;
    const { recorded, repeated } = firstDifference;
    io.stdout.writeLine(printableLine(`  first difference, ${findPlace(firstDifference)}`));
    io.stdout.writeLine(printableLine(`    recorded ${shown(recorded)}`));
    io.stdout.writeLine(printableLine(`    now      ${shown(repeated)}`));
  }
  return exitCode;
}

function findPlace({ seq, event, call }: RepeatedDecision): string {
  return `record ${seq}, ${event}${call === null ? '' : ` ${call}`}`;
}

function shown(decision: JsonObject | null): string {
  return JSON.stringify(decision);
}
