/** `mcp-observatory ask`: one policy-gated step. */
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../base/index.ts';
import { modelPlanner } from '../orchestrator/index.ts';
import {
  type AskResult,
  AuditLog,
  askResultToWire,
  connectPolicyServers,
  PolicyGate,
  PolicyHost,
  policyPath,
} from '../policy/index.ts';
import { type Command, type CommandIo, EXIT_FAILED, EXIT_OK } from './command-line/index.ts';

const HELP = `Usage: mcp-observatory ask --servers FILE [options] "question"

Asks one question: at most one tool call, through every gate of the policy.

  --servers FILE     servers, in the form of server_config.json; their names are the ids of the policy
  --allowlist FILE   allowlist or policy (else SAFE_ALLOWLIST_PATH, else config/allowlist.json)
  --provider NAME    openai (any OpenAI-compatible endpoint), anthropic, gemini (default openai)
  --model MODEL      the planner's model (else the provider's default)
  --base-url URL     address of the API (for openai with /v1, else OPENAI_BASE_URL)
                     The key is OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_API_KEY, also from a .env file
  --summarize        ask for a summary with quotes (also SAFE_SUMMARIZE=1)
  --json             print the result as JSON
The audit trail goes to SAFE_TRACE_DIR, else .mcp-observatory/traces. Exit code 1 when the step was blocked.`;

export const askCommand: Command = {
  name: 'ask',
  summary: 'Ask one question, with at most one policy-gated tool call',
  help: HELP,
  async run(args, io) {
    const options = readOptions(args, io);
    using gate = new PolicyGate({ policy: options.policy });
    gate.assertReady();
    using audit = new AuditLog({
      dir: io.env.SAFE_TRACE_DIR ?? '.mcp-observatory/traces',
      key: io.env.SAFE_AUDIT_KEY,
    });
    const planner = await modelPlanner(options.planner);
    const servers = await connectPolicyServers(options.servers, { env: io.env });
    await using host = await PolicyHost.open({ gate, planner, servers, audit, summarize: options.summarize });
    const result = await host.askOnce(options.question);
    io.stdout.write(options.json ? `${JSON.stringify(askResultToWire(result))}\n` : `${textOf(result)}\n`);
    return result.type === 'blocked' ? EXIT_FAILED : EXIT_OK;
  },
};

function readOptions(args: readonly string[], io: CommandIo) {
  const options = {
    servers: { type: 'string' },
    allowlist: { type: 'string' },
    provider: { type: 'string', default: 'openai' },
    model: { type: 'string' },
    'base-url': { type: 'string' },
    summarize: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  } as const;
  let parsed: ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (cause) {
    throw usage((cause as Error).message, cause);
  }
  const { values, positionals } = parsed;
  const [question] = positionals;
  if (question === undefined || positionals.length > 1)
    throw usage('Give exactly one question, in quotation marks');
  if (values.servers === undefined) throw usage("'ask' needs --servers FILE");
  return {
    question,
    servers: values.servers,
    planner: { provider: values.provider, model: values.model, baseUrl: values['base-url'] },
    policy: policyPath(values.allowlist, io.env),
    summarize: values.summarize || io.env.SAFE_SUMMARIZE === '1',
    json: values.json,
  };
}

function textOf(result: AskResult): string {
  switch (result.type) {
    case 'blocked':
      return `blocked by ${result.gate} (${result.reasonCode}): ${result.message}`;
    case 'final_answer':
      return result.answer;
    case 'tool_result':
      return JSON.stringify(result.result, null, 2);
    case 'tool_result_with_summary':
      return Object.entries(result.summary)
        .flatMap(([section, items]) => items.map((item) => `${section}: ${item.claim}\n  "${item.quote}"`))
        .join('\n');
  }
}

function usage(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', `${message}; see 'mcp-observatory ask --help'`, { cause });
}
