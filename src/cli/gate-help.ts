/** Help texts of the `gate` subcommands. */
import { RECORDINGS_HELP } from './recordings.ts';

const POLICY = `  --policy FILE      policy or allowlist (else SAFE_ALLOWLIST_PATH, else config/allowlist.json); --allowlist is the
                     same
  --pins FILE        approved tool definitions, from 'gate pin' (else SAFE_PINS_PATH)`;

const PLAN = `Usage: mcp-observatory gate plan --tools FILE [options] < plans.jsonl

Decides planner outputs, without a server or a model. Reads JSON lines {"id", "raw", "query"?, "prompt_template_id"?}
and writes {"id", "decision": allow|deny|final_answer|needs_approval, "gate", "reason_code", "message"} for each.
'query' is the user's request, for rules about where arguments come from.

  --tools FILE       {"<server>": {"tools": [...]}}, as tools/list returns them (required)
${POLICY}

Exit codes: 0 all lines were decided, 1 a line could not be read, 2 bad usage or a policy that cannot be used, which
denies every line.`;

const EVIDENCE = `Usage: mcp-observatory gate evidence < summaries.jsonl

Checks that every claim of a summary has its quote. Reads JSON lines {"id", "source", "summary"} and writes {"id",
"decision": accept|reject, "reason_code", "bullets": [{"path", "start", "end", "match"}]} for each.

Exit codes: 0 all lines were decided, 1 a line could not be read, 2 bad usage.`;

const VERIFY = `Usage: mcp-observatory gate verify [DIR] [options]

Verifies the audit trail in DIR (default: SAFE_TRACE_DIR). SAFE_AUDIT_KEY holds its key, if it has one.

  --expect HEAD      the trail must contain this head, kept elsewhere: a file with earlier output of --json, or the
                     hash of a record (observatory.audit_head of a span); repeatable
  --json             print the report as JSON, with the head to keep

Exit code 1 when a record was changed, removed or reordered.`;

const REPLAY = `Usage: mcp-observatory gate replay TRACE... [options]

Decides recorded runs (run-*.jsonl of an audit trail) again and shows the first decision that differs. Nothing is
called. The runs must have been recorded with content (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true);
SAFE_AUDIT_KEY decrypts it.

  --policy FILE      decide by this policy instead of the recorded one
  --json             one line per decision

Exit code 1 when a decision differs.`;

const PIN = `Usage: mcp-observatory gate pin --servers FILE --pins FILE [SERVER | SERVER/TOOL ...] [options]

Compares the tools that the servers list with the approved definitions, and shows what is new, changed, refused or gone.
Writes nothing without --approve.

  --servers FILE     servers, in the form of server_config.json; or --tools FILE with their tools/list results
  --pins FILE        approved tool definitions (else SAFE_PINS_PATH)
  --approve DIGEST   approve exactly what was shown under this digest; 'all' approves what is listed now
  --json             print whole definitions and differences as JSON

Exit code 1 while anything awaits approval.`;

const LINT = `Usage: mcp-observatory gate lint --policy FILE [options]

Finds mistakes in a policy: rules that can never decide, contradict or repeat each other, or allow more than they
seem to, and server settings without effect. With --servers or --tools also unknown tools and arguments.

  --policy FILE      policy or allowlist (else SAFE_ALLOWLIST_PATH, else config/allowlist.json)
  --servers FILE     servers, in the form of server_config.json; or --tools FILE with their tools/list results
  --strict           fail on warnings too
  --json             one finding per line

Exit code 1 for an error, with --strict for a warning too.`;

const EXPLAIN = `Usage: mcp-observatory gate explain CALL [options]

Shows what the policy decides about CALL, which rules decide it, and why the others do not apply. CALL is {"server",
"tool", "args"}, or {"server", "method", "params"} for other requests such as resources/read; - reads it from stdin.

${POLICY}
  --servers FILE     check the tool's definition and arguments too; or --tools FILE with tools/list results
  --query TEXT       the user's request
  --prompt-template ID   template of the prompt
  --json             print the decision as JSON`;

const TOOLS = `  --tools FILE       definitions of the tools, as tools/list returns them; or --servers FILE in the form of
                     server_config.json`;

const INIT = `Usage: mcp-observatory gate init (--observe | --strict) [options]

Writes a policy to start from, for the servers of --tools or --servers, else for the hook of coding agents.

  --observe          stop nothing, record what would be stopped: all but what servers say only reads
  --strict           allow what servers say only reads, by name, and ask about all else, each call by itself
${TOOLS}
  --out FILE         default policy.json; a file that is there is not overwritten`;

const LEARN = `Usage: mcp-observatory gate learn SOURCE... [options]

Writes the tightest policy that allows the recorded calls, and says in words what each rule allows. What was denied
teaches nothing; values with secrets and long ones are not written down.

${RECORDINGS_HELP}

  --wide             what values have in common (folder, host, domain, form, range) and where they came from, instead
                     of the values
${TOOLS}
  --out FILE         where to write the policy (default: stdout; a file that is there is not overwritten)
  --json             with --out: print the words as JSON

Exit code 1 when no policy can allow one of the calls.`;

const WHAT_IF = `Usage: mcp-observatory gate what-if POLICY SOURCE... [options]

Shows what a policy would decide about recorded calls. Nothing is called; budgets and approvals are not asked. 'gate
replay' repeats all decisions of one run instead, and compares them.

${RECORDINGS_HELP}

${TOOLS}
  --json             one line per call

Exit code 1 when it would not allow a call that was made.`;

const DIFF = `Usage: mcp-observatory gate diff A B [SOURCE...] [options]

Tells whether policy B lets through less than A (narrower), more (wider), or what the rules alone do not tell (unknown).
With recorded calls also how many of them only one of the two lets through.

${RECORDINGS_HELP}

${TOOLS}
  --json             print one JSON object

Exit code 1 unless B is the same or narrower.`;

const DRILL = `Usage: mcp-observatory gate drill POLICY SOURCE... [options]

Tries against a policy what goes wrong in practice, with recorded calls that it takes: approvals that are used twice,
late, or for another call; changed definitions; a server that imitates another. Nothing is called.
('gate verify' is about the audit trail.)

${RECORDINGS_HELP}

${TOOLS}
  --json             one line per scenario

Exit code 1 when a call is let through that should not be.`;

const EVAL = `Usage: mcp-observatory gate eval [options]

Evaluates every gate offline, without servers or a model, and writes the results.

  --out FILE         default eval/results/offline_gate_eval.json
  --cases N          fuzzed cases per suite
  --seed N           seed of the fuzzed cases
  --json             print the results as JSON`;

const E2E = `Usage: mcp-observatory gate e2e --cases FILE --servers FILE [options]

Runs cases over real servers, with the gate (SAFE) and without (naive), and writes metrics, runs and a table. The
planner is scripted and adversarial unless --model names one.

  --cases FILE       JSON lines {"id", "query", "plan"?}
  --servers FILE     servers, in the form of server_config.json
${POLICY}
  --out DIR          default eval/results
  --model M          ask this model of an OpenAI-compatible endpoint for the plans
  --base-url URL     its endpoint

With SAFE_TRACE_DIR the trace of each gated run is kept there as run-ID.jsonl, with the run_id of the runs file.
Exit code 1 when a gated call violated the policy.`;

export const GATE_HELP = {
  plan: PLAN,
  evidence: EVIDENCE,
  verify: VERIFY,
  replay: REPLAY,
  pin: PIN,
  lint: LINT,
  explain: EXPLAIN,
  init: INIT,
  learn: LEARN,
  'what-if': WHAT_IF,
  diff: DIFF,
  drill: DRILL,
  eval: EVAL,
  e2e: E2E,
};
