/** `mcp-observatory ask`: one policy-gated step. */
import type { PolicyStep } from '../golden/index.ts';
import { readServerEntries } from '../mcp-client/index.ts';
import { modelPlanner } from '../orchestrator/index.ts';
import {
  type AskResult,
  type AuditLog,
  askResultToWire,
  connectPolicyServers,
  type PolicyGate,
  PolicyHost,
} from '../policy/index.ts';
import {
  type Command,
  type CommandIo,
  EXIT_FAILED,
  EXIT_OK,
  joinUp,
  print,
  readFlags,
  usageError,
} from './command-line/index.ts';
import { openAuditLog, openGate, POLICY_FLAGS, tellBarred } from './policy-options/index.ts';
import { printableLine } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory ask --servers FILE [options] "question"

Asks one question: at most one tool call, through every gate of the policy.

  --servers FILE     servers, in the form of server_config.json; their names are the ids of the policy
  --policy FILE      policy or allowlist (else SAFE_ALLOWLIST_PATH, else config/allowlist.json); also --allowlist
  --pins FILE        approved tool definitions, from 'gate pin' (else SAFE_PINS_PATH). Without pins, what a server
                     lists first is trusted until the command ends
  --provider NAME    openai (any OpenAI-compatible endpoint), anthropic, gemini (default openai)
  --model MODEL      the planner's model (else the provider's default)
  --base-url URL     address of the API (for openai with /v1, else OPENAI_BASE_URL)
                     The key is OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_API_KEY, also from a .env file
  --summarize        ask for a summary with quotes (also SAFE_SUMMARIZE=1)
  --prompt-template ID   template of the question, for policies that require one
  --golden FILE      write the step to this golden, which 'golden replay' runs again without a model or a server
  --json             print the result as JSON
Beside 'up' spans, approvals and effects go there, as with 'run'.
The audit trail goes to SAFE_TRACE_DIR, else .mcp-observatory/traces. Exit code 1 when the step was blocked.`;

export const askCommand: Command = {
  help: HELP,
  async run(args, io) {
    const options = readOptions(args, io);
    await using up = await joinUp(io);
    using gate = openGate(options.policy, io.env, { approvals: up?.approvals });
    gate.assertReady();
    using audit = openAuditLog(io.env);
    const result = await answer(options, gate, audit, io);
    print(io, options.json ? askResultToWire(result) : toText(result));
    tellBarred(gate, io);
    if (result.auditProblem !== undefined) io.stderr.writeLine(`Not on record: ${result.auditProblem}`);
    return result.type === 'blocked' ? EXIT_FAILED : EXIT_OK;
  },
};

type AskFlags = ReturnType<typeof readOptions>;

/** Asks the question, and records the step as a golden if a file is named for it. */
async function answer(
  { question, servers: config, planner: model, golden, summarize, promptTemplateId }: AskFlags,
  gate: PolicyGate,
  audit: AuditLog,
  { env }: CommandIo,
): Promise<AskResult> {
  if (golden !== undefined) {
    const { recordPolicyStep } = await import('../golden/index.ts');
    const { provider, baseUrl } = model;
    const servers = (await readServerEntries(config)) as PolicyStep['servers'];
    const step = {
      query: question,
      policy: gate.policySource ?? {},
      provider,
      model: model.model,
      servers,
      summarize,
      promptTemplateId,
    };
    return await recordPolicyStep(step, { path: golden, baseUrl, env, gate, audit });
  }
  const planner = await modelPlanner(model);
  const servers = await connectPolicyServers(config, { env });
  await using host = await PolicyHost.open({ gate, planner, servers, audit, summarize });
  return await host.askOnce(question, { promptTemplateId });
}

function readOptions(args: readonly string[], io: CommandIo) {
  const options = {
    servers: { type: 'string' },
    ...POLICY_FLAGS,
    provider: { type: 'string', default: 'openai' },
    model: { type: 'string' },
    'base-url': { type: 'string' },
    summarize: { type: 'boolean', default: false },
    golden: { type: 'string' },
    'prompt-template': { type: 'string' },
    json: { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = readFlags(args, options, true);
  const [question] = positionals;
  if (question === undefined || positionals.length > 1)
    throw usageError('Give exactly one question, in quotation marks');
  if (values.servers === undefined) throw usageError("'ask' needs --servers FILE");
  return {
    question,
    servers: values.servers,
    planner: { provider: values.provider, model: values.model, baseUrl: values['base-url'] },
    policy: values,
    summarize: values.summarize || io.env.SAFE_SUMMARIZE === '1',
    golden: values.golden,
    promptTemplateId: values['prompt-template'],
    json: values.json,
  };
}

function toText(result: AskResult): string {
  switch (result.type) {
    case 'blocked':
      return printableLine(`blocked by ${result.gate} (${result.reasonCode}): ${result.message}`);
    case 'final_answer':
      return result.answer;
    case 'tool_result':
      return JSON.stringify(result.result, null, 2);
    case 'tool_result_with_summary':
      return Object.entries(result.summary)
        .flatMap(([section, items]) =>
          items.map(({ claim, quote }) => `${section}: ${printableLine(claim)}\n  "${printableLine(quote)}"`),
        )
        .join('\n');
  }
}
