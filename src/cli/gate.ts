/** `mcp-observatory gate`: the policy gate on the command line. */

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import { FILE_LIMITS, PLAN_LIMITS, parseStrictJson, StrictJsonError } from '../json/index.ts';
import {
  checkSummary,
  gateOf,
  PinStore,
  PolicyGate,
  parsePlan,
  policyPath,
  type ReasonCode,
  type ToolsByServer,
  verifyAudit,
} from '../policy/index.ts';
import { type Command, type CommandIo, EXIT_FAILED, EXIT_OK, pumpJsonl } from './command-line/index.ts';
import { runGateE2e } from './gate-e2e.ts';
import { runGateEval } from './gate-eval.ts';

const HELP = `Usage: mcp-observatory gate <plan|evidence|verify|eval|e2e> [options]

  plan      Read JSONL {id, raw} and say what the gate does with each plan.
            --tools FILE       {"<server>": {"tools": [...]}}, as tools/list gives them (required)
            --allowlist FILE   allowlist or policy (else SAFE_ALLOWLIST_PATH, else config/allowlist.json)
            --pins FILE        approved tool definitions
            -> {id, decision: allow|deny|final_answer|needs_approval, gate, reason_code, message}
            A line may hold the user's 'query', for rules about where arguments come from.
            A policy that cannot be used denies every line and ends in exit code 1.
  evidence  Read JSONL {id, source, summary} and say whether every claim has its quote.
            -> {id, decision: accept|reject, reason_code, bullets: [{path, start, end, match}]}
  verify    Check the audit trail in DIR (default: SAFE_TRACE_DIR). Exit code 1 when a record was changed,
            removed or reordered. --json prints the report; SAFE_AUDIT_KEY holds the key, if one was used.
  eval      Run the offline evaluation of every gate and write eval/results/offline_gate_eval.json.
            --out FILE, --cases N (fuzzed cases per suite), --seed N, --json
  e2e       Run the cases of --cases FILE (JSONL {id, query, plan?}) over the servers of --servers FILE
            (in the form of server_config.json), with the gate and without, and write metrics, runs and a
            table to --out DIR (eval/results). The planner is scripted and adversarial; --model M [--base-url URL]
            asks an OpenAI-compatible endpoint instead. Exit code 1 when a gated call went against the policy.`;

export const gateCommand: Command = {
  name: 'gate',
  summary: 'Check plans, summaries and audit trails against the policy gate',
  help: HELP,
  async run(args, io) {
    const [verb, ...rest] = args;
    switch (verb) {
      case 'plan':
        return runPlan(rest, io);
      case 'evidence':
        return runEvidence(rest, io);
      case 'verify':
        return runVerify(rest, io);
      case 'eval':
        return runGateEval(rest, io);
      case 'e2e':
        return runGateE2e(rest, io);
      default:
        throw usage(
          `Expected one of plan, evidence, verify, eval, e2e, got ${verb === undefined ? 'nothing' : `'${verb}'`}`,
        );
    }
  },
};

async function runPlan(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parse(args, {
    tools: { type: 'string' },
    allowlist: { type: 'string' },
    pins: { type: 'string' },
  });
  if (typeof values.tools !== 'string') throw usage("'gate plan' needs --tools FILE");
  const tools = readTools(values.tools);
  const pins = typeof values.pins === 'string' ? PinStore.fromFile(values.pins) : undefined;
  const policy = policyPath(values.allowlist as string | undefined, io.env);
  using gate = new PolicyGate({ policy, tools, pins });
  if (gate.problem !== undefined) io.stderr.write(`mcp-observatory gate: ${gate.problem.message}\n`);
  await pumpJsonl(io, (input, _line, text) => judgePlan(gate, input, text));
  return gate.problem === undefined ? EXIT_OK : EXIT_FAILED;
}

/** The gate's decision on one planner output. */
export function judgePlan(gate: PolicyGate, input: JsonObject, line: string): JsonObject {
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
  const decision = gate.evaluate({
    server: plan.server,
    tool: plan.tool,
    args: plan.args,
    userRequest: queryOf(input),
  });
  const kind = decision.decision === 'require_approval' ? 'needs_approval' : decision.decision;
  return verdict(kind, decision.reasonCode, decision.message);
}

/** The user's request, if the line has one. */
function queryOf(input: JsonObject): string | undefined {
  return typeof input.query === 'string' ? input.query : undefined;
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
  parse(args, {});
  await pumpJsonl(io, (input) => judgeEvidence(input));
  return EXIT_OK;
}

/** Whether every claim of a summary has its quote. `args` and `query` of the line are the caller's words. */
export function judgeEvidence(input: JsonObject): JsonObject {
  for (const key of ['source', 'summary']) {
    if (!Object.hasOwn(input, key)) throw new ObservatoryError('INVALID_INPUT', `The line has no '${key}'`);
  }
  const request = queryOf(input);
  const result = checkSummary(input.source, input.summary, { args: input.args, request });
  if (!result.accepted) return { decision: 'reject', reason_code: result.reasonCode, bullets: [] };
  const bullets = result.summary.bullets.map(({ path, start, end, match }) => ({ path, start, end, match }));
  return { decision: 'accept', reason_code: result.reasonCode, bullets };
}

async function runVerify(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parse(args, { json: { type: 'boolean' } }, true);
  const dir = positionals[0] ?? io.env.SAFE_TRACE_DIR;
  if (dir === undefined) throw usage("'gate verify' needs the trace directory, or SAFE_TRACE_DIR");
  const report = await verifyAudit(dir, io.env.SAFE_AUDIT_KEY);
  if (values.json === true) {
    io.stdout.write(`${JSON.stringify(report)}\n`);
  } else {
    for (const { file, line, problem } of report.problems) {
      io.stdout.write(`${file}${line === undefined ? '' : `:${line}`}: ${problem}\n`);
    }
    const unfinished = report.unfinished.length === 0 ? '' : `, ${report.unfinished.length} unfinished`;
    const state = report.problems.length === 0 ? 'intact' : `${report.problems.length} problems`;
    io.stdout.write(`${report.runs} runs${unfinished}, ${report.records} records: ${state}\n`);
  }
  return report.problems.length === 0 ? EXIT_OK : EXIT_FAILED;
}

function readTools(path: string): ToolsByServer {
  let value: unknown;
  try {
    value = parseStrictJson(readFileSync(path), {
      ...FILE_LIMITS,
      maxBytes: 64 * 1024 * 1024,
      maxValues: 10_000_000,
    });
  } catch (cause) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `--tools '${path}' cannot be read: ${(cause as Error).message}`,
      { cause },
    );
  }
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  for (const [server, listing] of isRecord ? Object.entries(value as JsonObject) : []) {
    if (!Array.isArray((listing as { tools?: unknown } | null)?.tools)) {
      throw new ObservatoryError('INVALID_OPTION', `--tools '${path}': '${server}' has no list 'tools'`);
    }
  }
  if (!isRecord) throw new ObservatoryError('INVALID_OPTION', `--tools '${path}' is not a JSON object`);
  return value as ToolsByServer;
}

type Options = NonNullable<Parameters<typeof parseArgs>[0]>['options'];

function parse(args: readonly string[], options: NonNullable<Options>, allowPositionals = false) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals, strict: true });
  } catch (cause) {
    throw usage((cause as Error).message, cause);
  }
}

function usage(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', `${message}; see 'mcp-observatory gate --help'`, { cause });
}
