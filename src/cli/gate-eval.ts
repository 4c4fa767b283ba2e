/** `mcp-observatory gate eval`: the offline evaluation of every gate. */
import { writePrivateFileSync } from '../base/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK, numberFlag, print, readFlags } from './command-line/index.ts';
import { isClean, type OfflineReport, runOfflineEval } from './eval/index.ts';
import { printableLine } from './terminal/index.ts';

/** Runs the evaluation, writes its report and prints a table, or the metrics with `--json`. */
export async function runGateEval(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readFlags(args, {
    out: { type: 'string', default: 'eval/results/offline_gate_eval.json' },
    cases: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean' },
  });
  const whole = { to: 999_999_999, whole: true };
  const report = await runOfflineEval(
    numberFlag('--cases', values.cases, whole),
    numberFlag('--seed', values.seed, whole),
  );
  writePrivateFileSync(values.out, `${JSON.stringify(report, null, 2)}\n`);
  const { cases: _, ...metrics } = report;
  print(io, values.json === true ? metrics : `${toTable(report)}\nWritten to ${printableLine(values.out)}`);
  return isClean(report) ? EXIT_OK : EXIT_FAILED;
}

function toTable(report: OfflineReport): string {
  const lines = Object.entries(report.cases).flatMap(([name, cases]) => {
    const failed = cases.filter(({ ok }) => !ok);
    return [
      `${`${name}_suite`.padEnd(20)} ${cases.length - failed.length} of ${cases.length} as expected`,
      ...failed.map(
        ({ name: title, expected, observed }) =>
          `  ${name}/${title}: expected ${expected}, observed ${observed}`,
      ),
    ];
  });
  const { plan_fuzz: plans, grounding_fuzz: quotes } = report;
  lines.push(
    `plan_fuzz            ${plans.slipped} of ${plans.cases} slipped, ${plans.refused_honest} honest refused, ${plans.allowed} allowed (seed ${plans.seed})`,
    ...plans.examples.map((example) => `  ${example}`),
    `grounding_fuzz       ${quotes.invalid_slipped} of ${quotes.invalid_blocked + quotes.invalid_slipped} slipped, ${quotes.valid_fail} of ${quotes.valid_ok + quotes.valid_fail} valid refused`,
  );
  return lines.join('\n');
}
