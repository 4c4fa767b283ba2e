import type { ConnectServersOptions, ServerEntry } from '../../mcp-client/index.ts';
import { createProvider, modelPlanner, type ProviderOptions } from '../../orchestrator/index.ts';
import {
  askResultToWire,
  connectPolicyServers,
  type PolicyDocument,
  PolicyGate,
  PolicyHost,
} from '../../policy/index.ts';
import { type GoldenCategory, type GoldenOutput, writeGolden } from '../file/index.ts';
import { recordingLink } from './cassette-recorder.ts';
import { RunRecorder } from './record.ts';

/** One policy-gated step, as a golden holds it. */
export interface PolicyStep {
  readonly query: string;
  /** The parsed policy or allowlist file. */
  readonly policy: PolicyDocument | Readonly<Record<string, readonly string[]>>;
  /** `openai`, `anthropic` or `gemini`. */
  readonly provider: string;
  readonly model: string;
  readonly servers: Readonly<Record<string, ServerEntry>>;
  /** @defaultValue false */
  readonly summarize?: boolean | undefined;
}

interface RecordPolicyStepOptions {
  readonly path: string;
  readonly testName: string;
  readonly description: string;
  readonly category: GoldenCategory;
  readonly recordedAt?: Date | null | undefined;
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
}

/** Answers one question with `PolicyHost` and writes its golden. */
export async function recordPolicyStep(
  step: PolicyStep,
  options: RecordPolicyStepOptions,
): Promise<GoldenOutput> {
  const recorder = new RunRecorder();
  const { apiKey, baseUrl } = options;
  recorder.scrubber.add(apiKey);
  const output = await askStep(
    step,
    { apiKey, baseUrl, fetch: recorder.model.fetch },
    { openLink: recordingLink(recorder.servers) },
  );
  const recordedAt = options.recordedAt === undefined ? new Date() : options.recordedAt;
  await writeGolden(options.path, {
    ...recorder.parts(),
    ...recorder.scrubber.clean({
      test_name: options.testName,
      description: options.description,
      category: options.category,
      runner: 'policy_host' as const,
      recorded_at: recordedAt?.toISOString() ?? null,
      expires_at: null,
      input: {
        provider: step.provider,
        model: step.model,
        user_prompt: step.query,
        server_config: { mcpServers: step.servers },
        options: { policy: step.policy, summarize: step.summarize === true },
      },
      golden_output: output,
      comparison: {
        final_answer: { check: 'exact' as const },
        matchers: { 'decision.latency_us': 'number' as const },
        bounds: {},
      },
    }),
  });
  return output;
}

/** Connects the servers of a step and answers its question. */
export async function askStep(
  step: PolicyStep,
  providerOptions: ProviderOptions,
  serverOptions: ConnectServersOptions,
): Promise<GoldenOutput> {
  const servers = await connectPolicyServers({ mcpServers: step.servers }, serverOptions);
  try {
    using gate = new PolicyGate({ policy: step.policy });
    const { model } = step;
    const provider = await createProvider(step.provider, {
      ...providerOptions,
      model,
      retry: { maxAttempts: 1 },
    });
    const planner = await modelPlanner({ provider, model });
    const summarize = step.summarize === true;
    await using host = await PolicyHost.open({ gate, planner, servers, audit: false, summarize });
    return askResultToWire(await host.askOnce(step.query));
  } finally {
    await Promise.allSettled(Object.values(servers).map((server) => server.close()));
  }
}
