import type { Span } from '@opentelemetry/api';
import type { ServerPool } from '../mcp-client/index.ts';
import type { EventListener } from './events.ts';
import type { GatedCalls } from './gated-calls.ts';
import type { ResolvedOptions } from './options.ts';
import type { ProviderChain } from './provider-chain.ts';

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
