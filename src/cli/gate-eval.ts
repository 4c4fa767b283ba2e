/** `mcp-observatory gate eval`: the offline evaluation of every gate. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../base/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK } from './command-line/index.ts';
import { isClean, type OfflineReport, runOfflineEval } from './eval/index.ts';

const DEFAULT_OUT = 'eval/results/offline_gate_eval.json';

/** Runs the evaluation, writes its report and prints a table, or the metrics with `--json`. */
export async function runGateEval(args: readonly string[], io: CommandIo): Promise<number> {
  const { out, cases, seed, json } = readOptions(args);
  const report = await runOfflineEval({ cases, seed });
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, `${JSON.stringify(report, null, 2)}\n`);
  if (json) {
    const { cases: _, ...metrics } = report;
    io.stdout.write(`${JSON.stringify(metrics)}\n`);
  } else {
    io.stdout.write(`${tableOf(report)}\nWritten to ${out}\n`);
  }
  return isClean(report) ? EXIT_OK : EXIT_FAILED;
}

function readOptions(args: readonly string[]) {
  let values: { out?: string; cases?: string; seed?: string; json?: boolean };
  try {
    const options = {
      out: { type: 'string' },
      cases: { type: 'string' },
      seed: { type: 'string' },
      json: { type: 'boolean' },
    } as const;
    ({ values } = parseArgs({ args: [...args], options, strict: true }));
  } catch (cause) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `${(cause as Error).message}; see 'mcp-observatory gate --help'`,
      { cause },
    );
  }
  return {
    out: values.out ?? DEFAULT_OUT,
    cases: wholeNumber('--cases', values.cases),
    seed: wholeNumber('--seed', values.seed),
    json: values.json === true,
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `${name} takes a whole number from 0 to 999999999, got '${text}'`,
    );
  }
  return Number(text);
}

function tableOf(report: OfflineReport): string {
  const suites = [
    report.policy_gate,
    report.plan_parse,
    report.plan_gate,
    report.typed_output,
    report.grounding,
  ];
  const lines = suites.map(
    ({ suite, passed, total_cases: total }) => `${suite.padEnd(20)} ${passed} of ${total} as expected`,
  );
  for (const name of Object.keys(report.cases)) {
    for (const { ok, name: title, expected, observed } of report.cases[name] ?? []) {
      if (!ok) lines.push(`  ${name}/${title}: expected ${expected}, observed ${observed}`);
    }
  }
  const { plan_fuzz: plans, grounding_fuzz: quotes } = report;
  lines.push(
    `plan_fuzz            ${plans.slipped} of ${plans.cases} slipped, ${plans.refused_honest} honest refused, ${plans.allowed} allowed (seed ${plans.seed})`,
    ...plans.examples.map((example) => `  ${example}`),
    `grounding_fuzz       ${quotes.invalid_slipped} of ${quotes.invalid_blocked + quotes.invalid_slipped} slipped, ${quotes.valid_fail} of ${quotes.valid_ok + quotes.valid_fail} valid refused`,
  );
  return lines.join('\n');
}
