// A user's program that is only compiled: each entry gives values and their types, and classes are one type in all.
import {
  DurableSpanProcessor,
  type Interceptor,
  instrument,
  type ObservatoryError,
  ObservatorySpanProcessor,
  PostgresSpanExporter,
  type StartOptions,
  startObservatory,
} from 'mcp-observatory';
import { type CollectorOptions, startCollector } from 'mcp-observatory/collector';
import {
  FallbackRouter,
  shadow,
  TieredExecutionConfig,
  TieredExecutionEngine,
} from 'mcp-observatory/execution';
import { type Golden, readGolden, toMatchGolden } from 'mcp-observatory/golden';
import { getObservatoryInstrumentations } from 'mcp-observatory/instrumentation';
import { type GhostOptions, type GhostResult, mcpGhost } from 'mcp-observatory/orchestrator';
import { type Decision, ObservatoryError as GateError, PolicyGate } from 'mcp-observatory/policy';

export const options: StartOptions = { serviceName: 'consumer', postgres: false };
// @ts-expect-error: the name of a service is a text.
export const wrong: StartOptions = { serviceName: 1 };

export const processors = [
  new ObservatorySpanProcessor(),
  new PostgresSpanExporter({ connection: 'postgres://x' }),
];
/** The members of the processor are those of a `SpanProcessor` and its counters. */
export const members = {
  stats: true,
  onStart: true,
  onEnding: true,
  onEnd: true,
  forceFlush: true,
  shutdown: true,
} satisfies Record<keyof ObservatorySpanProcessor, true>;
export const instrumentations = getObservatoryInstrumentations({ captureContent: false });
export const interceptor: Interceptor = instrument({ serviceName: 'consumer' });
export const engine = new TieredExecutionEngine(
  interceptor,
  TieredExecutionConfig.fromBaseCost(0.01, { tier1Confidence: 0.5, tier1HallucinationRisk: 0.4 }),
);
export const router = new FallbackRouter({ interceptor, routes: {} });
export const gate = new PolicyGate({ policy: 'allowlist.json' });
export const run: GhostOptions = {
  provider: 'openai',
  systemPrompt: '',
  userPrompt: 'Hello',
  serverConfig: {},
  gate,
};
export const error: ObservatoryError = new GateError('INVALID_OPTION', 'one class');

export async function play(path: string): Promise<Golden> {
  const result: GhostResult = await mcpGhost(run);
  await toMatchGolden(result, path);
  return readGolden(path);
}

export async function serve(given: CollectorOptions): Promise<void> {
  await using observatory = await startObservatory(options);
  await using collector = await startCollector(given);
  console.log(observatory.isGlobal, collector);
}

export const isDenied = (decision: Decision): boolean => decision.decision === 'deny';
export { DurableSpanProcessor, shadow };
