/** `mcp-observatory gate`: the policy gate on the command line. */

import { readFileSync } from 'node:fs';
import { ObservatoryError } from '../base/index.ts';
import { type JsonObject, PLAN_LIMITS, parseStrictJson, StrictJsonError, toText } from '../json/index.ts';
import {
  type AuditHead,
  checkSummary,
  expectedHead,
  gateOf,
  type PolicyGate,
  parsePlan,
  type ReasonCode,
  verifyAudit,
} from '../policy/index.ts';
import {
  type Command,
  type CommandIo,
  type CommandTable,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  groupCommands,
  print,
  pumpJsonl,
  readFlags,
  usageError,
} from './command-line/index.ts';
import { runGateDiff, runGateInit } from './gate-diff.ts';
import { runGateDrill } from './gate-drill.ts';
import { runGateE2e } from './gate-e2e.ts';
import { runGateEval } from './gate-eval.ts';
import { GATE_HELP } from './gate-help.ts';
import { runGateLearn, runGateWhatIf } from './gate-learn.ts';
import { runGatePin } from './gate-pin.ts';
import { runGateReplay } from './gate-replay.ts';
import { runGateExplain, runGateLint } from './gate-rules.ts';
import { openGate, POLICY_FLAGS, readToolsFile } from './policy-options/index.ts';

/** What each subcommand does, in a line, and what runs it. */
const VERBS = {
  plan: ['decide planner outputs (JSONL)', runPlan],
  evidence: ['check that every claim of a summary has its quote (JSONL)', runEvidence],
  explain: ['show what a policy decides about a call, and by which rules', runGateExplain],
  lint: ['find mistakes in a policy', runGateLint],
  pin: ['show and approve tool definitions', runGatePin],
  verify: ['verify an audit trail', runVerify],
  replay: ['decide recorded runs again, by the same or another policy', runGateReplay],
  init: ['write a policy to start from', runGateInit],
  learn: ['write the tightest policy that allows recorded calls', runGateLearn],
  'what-if': ['show what a policy decides about recorded calls', runGateWhatIf],
  diff: ['tell whether a policy allows more or less than another', runGateDiff],
  drill: ['try what goes wrong in practice against a policy', runGateDrill],
  eval: ['evaluate every gate offline', runGateEval],
  e2e: ['run cases over real servers, with the gate and without', runGateE2e],
} satisfies Record<keyof typeof GATE_HELP, readonly [string, Command['run']]>;

const SUBCOMMANDS: CommandTable = Object.fromEntries(
  Object.entries(VERBS).map(([name, [summary, run]]) => {
    const command: Command = { help: GATE_HELP[name as keyof typeof VERBS], run };
    return [name, { summary, load: async () => command }];
  }),
);

export const gateCommand: Command = groupCommands(
  'gate',
  'The policy gate: checks of policies, plans, summaries and audit trails.',
  SUBCOMMANDS,
);

async function runPlan(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readFlags(args, { tools: { type: 'string' }, ...POLICY_FLAGS });
  if (values.tools === undefined) throw usageError("'gate plan' needs --tools FILE");
  using gate = openGate(values, io.env, { tools: readToolsFile(values.tools) });
  if (gate.problem !== undefined) io.stderr.writeLine(`mcp-observatory gate: ${gate.problem.message}`);
  for (const { message } of gate.findings) io.stderr.writeLine(`mcp-observatory gate: ${message}`);
  const failures = await pumpJsonl(io, (input, _line, text) => judgePlan(gate, input, text));
  if (gate.problem !== undefined) return EXIT_USAGE;
  return failures === 0 ? EXIT_OK : EXIT_FAILED;
}

export async function judgePlan(gate: PolicyGate, input: JsonObject, line: string): Promise<JsonObject> {
  if (!Object.hasOwn(input, 'raw')) {
    throw new ObservatoryError('INVALID_INPUT', "The line has no 'raw', the planner's output");
  }
  // Parsing the line loses duplicate keys of a plan given as a JSON value, so the text of the line is parsed again. A
  // plan given as text has its own limits; those of the line only have to contain it.
  const { raw } = input;
  const lossy = typeof raw === 'string' ? undefined : lineProblem(line);
  if (lossy !== undefined) return verdict('deny', lossy.reasonCode, lossy.message);
  const parsed = parsePlan(raw);
  if ('refused' in parsed) return verdict('deny', parsed.refused.reasonCode, parsed.refused.message);
  const { plan } = parsed;
  if (plan.type === 'final_answer')
    return verdict('final_answer', 'final_answer', 'The plan ends the step without a call');
  const decision = await gate.evaluateInSlices({
    server: plan.server,
    tool: plan.tool,
    args: plan.args,
    userRequest: toText(input.query),
    promptTemplateId: toText(input.prompt_template_id),
  });
  const kind = decision.decision === 'require_approval' ? 'needs_approval' : decision.decision;
  return verdict(kind, decision.reasonCode, decision.message);
}

/** A line may hold a plan of maximum size and depth inside its own object. */
const LINE_LIMITS = {
  ...PLAN_LIMITS,
  maxBytes: PLAN_LIMITS.maxBytes * 2,
  maxDepth: PLAN_LIMITS.maxDepth + 1,
};

function lineProblem(line: string): { reasonCode: ReasonCode; message: string } | undefined {
  try {
    parseStrictJson(line, LINE_LIMITS);
    return undefined;
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    return { reasonCode: `plan_${error.problem}`, message: error.message };
  }
}

function verdict(decision: string, reasonCode: ReasonCode, message: string): JsonObject {
  return { decision, gate: gateOf(reasonCode), reason_code: reasonCode, message };
}

async function runEvidence(args: readonly string[], io: CommandIo): Promise<number> {
  readFlags(args, {});
  const failures = await pumpJsonl(io, (input) => judgeEvidence(input));
  return failures === 0 ? EXIT_OK : EXIT_FAILED;
}

/** Whether every claim of a summary has its quote. `args` and `query` of the line are the caller's words. */
export function judgeEvidence(input: JsonObject): JsonObject {
  for (const key of ['source', 'summary']) {
    if (!Object.hasOwn(input, key)) throw new ObservatoryError('INVALID_INPUT', `The line has no '${key}'`);
  }
  const request = toText(input.query);
  const result = checkSummary(input.source, input.summary, { args: input.args, request });
  if (!result.accepted) return { decision: 'reject', reason_code: result.reasonCode, bullets: [] };
  const bullets = result.summary.bullets.map(({ path, start, end, match }) => ({ path, start, end, match }));
  return { decision: 'accept', reason_code: result.reasonCode, bullets };
}

async function runVerify(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = { json: { type: 'boolean' }, expect: { type: 'string', multiple: true } } as const;
  const { values, positionals } = readFlags(args, flags, true);
  const dir = positionals[0] ?? io.env.SAFE_TRACE_DIR;
  if (dir === undefined) throw usageError("'gate verify' needs the trace directory, or SAFE_TRACE_DIR");
  const report = await verifyAudit(dir, io.env.SAFE_AUDIT_KEY, (values.expect ?? []).map(readExpected));
  if (values.json === true) {
    print(io, report);
  } else {
    for (const { file, line, problem } of report.problems) {
      io.stdout.writeLine(`${file}${line === undefined ? '' : `:${line}`}: ${problem}`);
    }
    const unfinished = report.unfinished.length === 0 ? '' : `, ${report.unfinished.length} unfinished`;
    const state = report.problems.length === 0 ? 'intact' : `${report.problems.length} problems`;
    print(io, `${report.runs} runs${unfinished}, ${report.records} records: ${state}`);
  }
  return report.problems.length === 0 ? EXIT_OK : EXIT_FAILED;
}

/** The hash of a record, or a file with what `gate verify --json` printed. */
function readExpected(value: string): AuditHead | string {
  if (/^[0-9a-f]{64}$/.test(value)) return value;
  let head: AuditHead | undefined;
  try {
    head = expectedHead(readFileSync(value));
  } catch (cause) {
    throw usageError(
      `--expect '${value}' is neither the hash of a record nor a file that can be read`,
      cause,
    );
  }
  if (head === undefined) throw usageError(`--expect '${value}' is not what 'gate verify --json' prints`);
  return head;
}
