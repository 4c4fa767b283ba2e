/** The gate's decisions on spans, so that `mcp_traces` holds them: one span per call, one event per gate. */
import { type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { ATTR_ERROR_TYPE, ATTR_GEN_AI_TOOL_NAME, attributeOf, VERSION } from '../base/index.ts';
import { type Decision, isBlocked } from './decision.ts';
import { type Gate, gateOf, type ReasonCode } from './reasons.ts';

const EVENT_GATE = 'observatory.policy_gate';

export function policyTracer(): Tracer {
  return trace.getTracer('mcp-observatory/policy', VERSION);
}

/** Runs `act` inside a span; a throw is an error status without its message, which may hold content. */
export async function inGateSpan<T>(name: string, act: (span: Span) => Promise<T>): Promise<T> {
  return policyTracer().startActiveSpan(name, async (span) => {
    try {
      return await act(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute(ATTR_ERROR_TYPE, error instanceof Error ? error.name : '_OTHER');
      throw error;
    } finally {
      span.end();
    }
  });
}

/** One gate's outcome as an event. */
export function addGateEvent(
  span: Span,
  outcome: 'pass' | 'stop',
  reason: ReasonCode,
  gate: Gate = gateOf(reason),
): void {
  span.addEvent(EVENT_GATE, {
    'observatory.policy_gate': gate,
    'observatory.policy_outcome': outcome,
    [attributeOf('policy_reason')]: reason,
  });
}

/** Writes a decision about a call to a span. */
export function setDecision(
  span: Span,
  tool: string,
  decision: Decision,
  riskTier: string | undefined,
): void {
  const isStopped = isBlocked(decision);
  span.setAttributes({
    [ATTR_GEN_AI_TOOL_NAME]: tool,
    [attributeOf('policy_decision')]: decision.decision,
    [attributeOf('policy_reason')]: decision.reasonCode,
    [attributeOf('gate_blocked')]: isStopped,
    'observatory.policy_enforcement': decision.enforcement,
    'observatory.policy_rule_ids': [...decision.ruleIds],
  });
  if (decision.policyHash !== null) span.setAttribute(attributeOf('policy_hash'), decision.policyHash);
  if (decision.toolHash !== null) span.setAttribute(attributeOf('tool_hash'), decision.toolHash);
  if (decision.argsDigest !== null) span.setAttribute(attributeOf('tool_args_hash'), decision.argsDigest);
  if (riskTier !== undefined) span.setAttribute(attributeOf('risk_tier'), riskTier);
  addGateEvent(span, isStopped ? 'stop' : 'pass', decision.reasonCode, decision.gate);
  if (isStopped) setFallback(span, decision.decision === 'require_approval' ? 'human_review' : 'template');
}

/** The gate answers in place of the tool: that is a fallback, for a violation of policy. */
export function setFallback(span: Span, type: 'human_review' | 'template'): void {
  span.setAttributes({
    [attributeOf('gate_blocked')]: true,
    [attributeOf('fallback_used')]: true,
    [attributeOf('fallback_type')]: type,
    [attributeOf('fallback_reason')]: 'policy_violation',
  });
}
