/** `mcp-observatory gate`: the policy gate on the command line. */

import { readFileSync } from 'node:fs';
import { ObservatoryError } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import { PLAN_LIMITS, parseStrictJson, StrictJsonError } from '../json/index.ts';
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
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  print,
  pumpJsonl,
  readFlags,
  usageError,
} from './command-line/index.ts';
import { runGateE2e } from './gate-e2e.ts';
import { runGateEval } from './gate-eval.ts';
import { runGatePin } from './gate-pin.ts';
import { runGateReplay } from './gate-replay.ts';
import { runGateExplain, runGateLint } from './gate-rules.ts';
import { openGate, POLICY_FLAGS, readToolsFile } from './policy-options/index.ts';

const HELP = `Usage: mcp-observatory gate <plan|evidence|verify|replay|pin|lint|explain|eval|e2e> [options]

  plan      Read JSONL {id, raw} and say what the gate does with each plan.
            --tools FILE       {"<server>": {"tools": [...]}}, as tools/list gives them (required)
            --policy FILE      policy or allowlist (else SAFE_ALLOWLIST_PATH, else config/allowlist.json);
                               --allowlist is the same
            --pins FILE        approved tool definitions, from 'gate pin' (else SAFE_PINS_PATH)
            -> {id, decision: allow|deny|final_answer|needs_approval, gate, reason_code, message}
            A line may hold the user's 'query', for rules about where arguments come from, and the
            'prompt_template_id', for policies that require one.
            A policy that cannot be used denies every line and ends in exit code 2. A line that cannot be read gets
            an error instead of a decision, and ends in exit code 1; so with evidence.
  evidence  Read JSONL {id, source, summary} and say whether every claim has its quote.
            -> {id, decision: accept|reject, reason_code, bullets: [{path, start, end, match}]}
  verify    Check the audit trail in DIR (default: SAFE_TRACE_DIR). Exit code 1 when a record was changed,
            removed or reordered. SAFE_AUDIT_KEY holds the key, if one was used.
            --expect HEAD  the trail must contain this head, kept elsewhere: a file with what --json printed
                           before, or the hash of a record (observatory.audit_head of a span); repeatable
            --json         print the report, with the head to keep
  replay    Decide again what the runs in TRACE... (run-*.jsonl of an audit trail) decided, and show the first
            difference. Nothing is called. The runs must have been recorded with content
            (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true). Exit code 1 when a decision is another one.
            --policy FILE  decide by this policy instead of the recorded one; --json: one line per decision
            SAFE_AUDIT_KEY opens content that was encrypted
  pin       Compare what the servers of --servers FILE (or a --tools FILE) list with the pins of --pins FILE, and
            show what is new, changed, refused or gone. Nothing is written without --approve. Exit code 1 while
            something waits for approval. SERVER or SERVER/TOOL arguments restrict it to these.
            --approve DIGEST   pin exactly what was shown under this digest; --approve all pins what is listed now
            --json             whole definitions and differences
  lint      Look for mistakes in --policy FILE: rules that cannot decide, contradict or repeat each other, or are
            wider than they look, and words about servers that do nothing; with --servers FILE or --tools FILE
            also unknown tools and arguments. Exit code 1 for an error, with --strict for a warning too. --json
            prints one finding per line.
  explain   Say what the policy decides about CALL ({"server", "tool", "args"}, or - for stdin), by which rules, and
            why the others do not apply; or about a request ({"server", "method", "params"}, such as resources/read),
            by which word about its server. --policy, --pins; --servers or --tools to check definition and arguments
            too; --query TEXT is the user's request, --prompt-template ID its
            template; --json
  eval      Run the offline evaluation of every gate and write eval/results/offline_gate_eval.json.
            --out FILE, --cases N (fuzzed cases per suite), --seed N, --json
  e2e       Run the cases of --cases FILE (JSONL {id, query, plan?}) over the servers of --servers FILE
            (in the form of server_config.json), with the gate (--policy, --pins) and without, and write metrics, runs and a
            table to --out DIR (eval/results). The planner is scripted and adversarial; --model M [--base-url URL]
            asks an OpenAI-compatible endpoint instead. With SAFE_TRACE_DIR the trace of each gated run is kept there,
            as run-ID.jsonl with the run_id of the runs file. Exit code 1 when a gated call went against the policy.`;

const SUBCOMMANDS: Readonly<Record<string, Command['run']>> = {
  plan: runPlan,
  evidence: runEvidence,
  verify: runVerify,
  replay: runGateReplay,
  pin: runGatePin,
  lint: runGateLint,
  explain: runGateExplain,
  eval: runGateEval,
  e2e: runGateE2e,
};

export const gateCommand: Command = {
  help: HELP,
  async run(args, io) {
    const [verb = '', ...rest] = args;
    const run = Object.hasOwn(SUBCOMMANDS, verb) ? SUBCOMMANDS[verb] : undefined;
    if (run !== undefined) return run(rest, io);
    const seen = verb === '' ? 'nothing' : `'${verb}'`;
    throw usageError(`Expected one of ${Object.keys(SUBCOMMANDS).join(', ')}, got ${seen}`);
  },
};

async function runPlan(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readFlags(args, { tools: { type: 'string' }, ...POLICY_FLAGS });
  if (values.tools === undefined) throw usageError("'gate plan' needs --tools FILE");
  using gate = openGate(values, io.env, readToolsFile(values.tools));
  if (gate.problem !== undefined) io.stderr.writeLine(`mcp-observatory gate: ${gate.problem.message}`);
  for (const { message } of gate.findings) io.stderr.writeLine(`mcp-observatory gate: ${message}`);
  const failures = await pumpJsonl(io, (input, _line, text) => judgePlan(gate, input, text));
  if (gate.problem !== undefined) return EXIT_USAGE;
  return failures === 0 ? EXIT_OK : EXIT_FAILED;
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
    promptTemplateId: textIn(input.prompt_template_id),
  });
  const kind = decision.decision === 'require_approval' ? 'needs_approval' : decision.decision;
  return verdict(kind, decision.reasonCode, decision.message);
}

/** The user's request, if the line has one. */
function queryOf(input: JsonObject): string | undefined {
  return textIn(input.query);
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
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
  const request = queryOf(input);
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
