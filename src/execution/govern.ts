import { context } from '@opentelemetry/api';
import { type GovernanceFields, setGovernance } from '../processor/index.ts';

/**
 * Runs `fn` with governance fields that hold for every GenAI and MCP span made inside it, across `await` and whatever
 * instrumentation makes them. Inner calls add to outer ones and replace what they name; `undefined` leaves a field as
 * it is.
 *
 * Fields that describe (`riskTier`, `promptTemplateId`, `confidence`, `sessionId`, `conversationId`, `isShadow`,
 * `shadowParentTraceId`) also hold in MCP servers of other processes, where the MCP instrumentation may send baggage:
 * by default to local peers, see its option `propagate`. Nothing of them goes to any other host.
 *
 * Needs the context manager that an OpenTelemetry SDK registers; without one there are no spans to govern either.
 *
 * ```ts
 * await govern({ riskTier: 'high', promptTemplateId: 'risk-v3.2' }, () => client.callTool({ name: 'score' }));
 * ```
 *
 * @returns what `fn` returns; what it throws comes through.
 */
export function govern<T>(fields: GovernanceFields, fn: () => T): T {
  return context.with(setGovernance(context.active(), fields), fn);
}
