import { basename } from 'node:path';
import { checkOptions, checkValue, kinds, type OptionKinds, required, secret } from '../../base/index.ts';
import type { ConnectServersOptions, ServerEntry } from '../../mcp-client/index.ts';
import { createProvider, modelPlanner, type ProviderOptions } from '../../orchestrator/index.ts';
import {
  A_GATE,
  AN_AUDIT,
  type AskResult,
  type AuditOption,
  askResultToWire,
  connectPolicyServers,
  type PolicyDocument,
  PolicyGate,
  PolicyHost,
} from '../../policy/index.ts';
import { A_CATEGORY, A_DATE_OR_NULL, A_NUMBER_OR_NULL, readSecrets, writeGolden } from '../file/index.ts';
import { recordingLink } from './cassette-recorder.ts';
import { type RecordGoldenOptions, RunRecorder, readExpiry } from './record.ts';

/** One policy-gated step, as a golden holds it. */
export interface PolicyStep {
  readonly query: string;
  /** The parsed policy or allowlist file. */
  readonly policy: PolicyDocument | Readonly<Record<string, unknown>>;
  /** `openai`, `anthropic` or `gemini`. */
  readonly provider: string;
  /** @defaultValue the provider's default model */
  readonly model?: string | undefined;
  readonly servers: Readonly<Record<string, ServerEntry>>;
  /** @defaultValue false */
  readonly summarize?: boolean | undefined;
  /** Template of the question, for policies that require one. */
  readonly promptTemplateId?: string | undefined;
}

/** Options of `recordPolicyStep`: those of the golden, and those of a step that a golden cannot hold. */
export interface RecordPolicyStepOptions
  extends Pick<
      RecordGoldenOptions,
      'path' | 'testName' | 'description' | 'category' | 'recordedAt' | 'expiresInDays'
    >,
    StepSurroundings {
  /** @defaultValue the provider's environment variable, then a `.env` file */
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
  /** Environment for variables in the configuration of servers. @defaultValue that of the process */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

interface StepSurroundings {
  /** The gate of the step's policy, with its pins. @defaultValue a new one */
  readonly gate?: PolicyGate | undefined;
  /** @defaultValue none */
  readonly audit?: AuditOption | undefined;
}

const OPTIONS: OptionKinds<RecordPolicyStepOptions> = {
  apiKey: secret(kinds.string),
  baseUrl: kinds.string,
  env: kinds.object,
  path: required(kinds.string),
  testName: kinds.string,
  description: kinds.string,
  category: A_CATEGORY,
  recordedAt: A_DATE_OR_NULL,
  expiresInDays: A_NUMBER_OR_NULL,
  gate: A_GATE,
  audit: AN_AUDIT,
};

/**
 * Answers one question with `PolicyHost` and writes its golden, which `replayGolden` runs again.
 * @throws what connecting, the planner and the tool throw; then nothing is written.
 */
export async function recordPolicyStep(
  step: PolicyStep,
  options: RecordPolicyStepOptions,
): Promise<AskResult> {
  checkOptions(options, OPTIONS, 'recordPolicyStep()');
  checkValue('the step of recordPolicyStep()', step, kinds.object);
  const recorder = new RunRecorder();
  const { apiKey, baseUrl, env, gate, audit, path } = options;
  const { policy, promptTemplateId } = step;
  recorder.scrubber.add(apiKey);
  const { result, model } = await askStep(
    step,
    { apiKey, baseUrl, fetch: recorder.model.fetch },
    { openLink: recordingLink(recorder.servers), env },
    { gate, audit },
  );
  for (const secret of await readSecrets({ mcpServers: step.servers })) recorder.scrubber.add(secret);
  const parts = await recorder.parts();
  const recordedAt = options.recordedAt === undefined ? new Date() : options.recordedAt;
  await writeGolden(path, {
    ...parts,
    ...(await recorder.scrubber.cleanLarge({
      test_name: options.testName ?? basename(path, '.json'),
      description: options.description ?? '',
      category: options.category ?? 'happy_path',
      runner: 'policy_host' as const,
      recorded_at: recordedAt?.toISOString() ?? null,
      expires_at: readExpiry(options, parts.source, recordedAt),
      input: {
        provider: step.provider,
        model,
        user_prompt: step.query,
        server_config: { mcpServers: step.servers },
        options: {
          policy,
          summarize: step.summarize === true,
          ...(promptTemplateId === undefined ? {} : { prompt_template_id: promptTemplateId }),
        },
      },
      // A replay has another run id in the audit trail.
      golden_output: askResultToWire({ ...result, runId: '' }),
      comparison: {
        final_answer: { check: 'exact' as const },
        matchers: { 'decision.latency_us': 'number' as const },
        bounds: {},
      },
    })),
  });
  return result;
}

/** Connects the servers of a step and answers its question. */
export async function askStep(
  step: PolicyStep,
  providerOptions: ProviderOptions,
  serverOptions: ConnectServersOptions,
  { gate: given, audit = false }: StepSurroundings = {},
): Promise<{ readonly result: AskResult; readonly model: string }> {
  const servers = await connectPolicyServers({ mcpServers: step.servers }, serverOptions);
  try {
    using own = given === undefined ? new PolicyGate({ policy: step.policy }) : undefined;
    const gate = (given ?? own) as PolicyGate;
    const retry = { maxAttempts: 1 };
    const provider = await createProvider(step.provider, { ...providerOptions, model: step.model, retry });
    const model = step.model ?? provider.defaultModel;
    const planner = await modelPlanner({ provider, model });
    const { query, promptTemplateId } = step;
    const summarize = step.summarize === true;
    await using host = await PolicyHost.open({ gate, planner, servers, audit, summarize });
    return { result: await host.askOnce(query, { promptTemplateId }), model };
  } finally {
    await Promise.allSettled(Object.values(servers).map((server) => server.close()));
  }
}
