import type { Span } from '@opentelemetry/api';
import type { ServerPool } from '../mcp-client/index.ts';
import type { CircuitBreakers } from './breaker.ts';
import type { Budget } from './budget.ts';
import type { Conversation } from './conversation.ts';
import type { EventListener } from './events.ts';
import type { LinkedResources } from './linked-resources.ts';
import type { OfferedTools } from './offered-tools.ts';
import type { ResolvedOptions } from './options.ts';
import type { ProviderChain } from './provider-chain.ts';
import type { Provider } from './providers/index.ts';
import type { ResultCap } from './result-cap.ts';
import type { RunLog } from './run-log.ts';
import type { RunTelemetry } from './telemetry.ts';
import type { GatedCalls } from './tool-attempt.ts';

/** A run whose servers are open. */
export interface OpenedRun {
  readonly options: ResolvedOptions;
  readonly providers: ProviderChain;
  readonly emit: EventListener;
  readonly span: Span;
  readonly pool: ServerPool;
  /** Makes the tool calls of a gated run. */
  readonly gated: GatedCalls | undefined;
  readonly startedAt: number;
}

/** Everything the parts of a run share. */
export interface Session extends OpenedRun {
  /** The provider that is asked now, and the model. */
  readonly provider: Provider;
  readonly model: string;
  readonly telemetry: RunTelemetry;
  readonly conversation: Conversation;
  readonly budget: Budget;
  readonly breakers: CircuitBreakers;
  readonly cap: ResultCap;
  readonly resources: LinkedResources;
  readonly log: RunLog;
  /** The tools as they are now; servers may change them at any time. */
  readonly catalog: () => Promise<OfferedTools>;
}
