import type { Span } from '@opentelemetry/api';
import type { ServerPool } from '../mcp-client/index.ts';
import type { EventListener } from './events.ts';
import type { ResolvedOptions } from './options.ts';
import type { Provider } from './providers/index.ts';
import type { RunTelemetry } from './telemetry.ts';
import type { GatedCalls } from './tool-attempt.ts';

/** A run with its servers open: what everything in it works with. */
export interface Session {
  readonly resolved: ResolvedOptions;
  readonly provider: Provider;
  readonly model: string;
  readonly telemetry: RunTelemetry;
  readonly emit: EventListener;
  readonly span: Span;
  readonly pool: ServerPool;
  /** Makes the tool calls of a gated run. */
  readonly gated: GatedCalls | undefined;
  readonly startedAt: number;
}
