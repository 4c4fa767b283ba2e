import { context } from '@opentelemetry/api';
import { type GovernanceFields, setGovernance } from '../processor/index.ts';

/**
 * Runs `fn` with governance fields for every GenAI and MCP span started inside it, across `await` and for all
 * instrumentations. Inner calls override the fields they set; `undefined` leaves a field unchanged.
 *
 * Descriptive fields (`riskTier`, `promptTemplateId`, `confidence`, `sessionId`, `conversationId`, `isShadow`,
 * `shadowParentTraceId`) also apply in MCP servers of other processes if the MCP instrumentation may send baggage: by
 * default to local peers only, see its option `propagate`.
 *
 * Needs the context manager of an OpenTelemetry SDK.
 *
 * ```ts
 * await govern({ riskTier: 'high', promptTemplateId: 'risk-v3.2' }, () => client.callTool({ name: 'score' }));
 * ```
 *
 * @returns what `fn` returns; errors pass through.
 */
export function govern<T>(fields: GovernanceFields, fn: () => T): T {
  return context.with(setGovernance(context.active(), fields), fn);
}
