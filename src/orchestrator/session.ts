import type { CircuitBreakers } from './breaker.ts';
import type { Budget } from './budget.ts';
import type { Conversation } from './conversation.ts';
import type { LinkedResources } from './linked-resources.ts';
import type { OfferedTools } from './offered-tools.ts';
import type { OpenedRun } from './opened-run.ts';
import type { Provider } from './providers/index.ts';
import type { ResultCap } from './result-cap.ts';
import type { RunLog } from './run-log.ts';
import type { RunTelemetry } from './telemetry.ts';

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
