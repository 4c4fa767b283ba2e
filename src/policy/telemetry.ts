/** The gate's decisions as telemetry: one span per call with one event per gate, and a counter of decisions. */
import {
  type Counter,
  diag,
  type MeterProvider,
  metrics,
  type Span,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { BoundedNames, semconv, toAttribute, VERSION } from '../base/index.ts';
import { type Decision, isBlocked } from './decision.ts';
import { type Gate, gateOf, type ReasonCode } from './reasons/index.ts';
import { describeSource } from './sources/index.ts';

const EVENT_GATE = 'observatory.policy_gate';

/** Runs `act` inside a span. A throw sets the error status without its message, which may hold content. */
export async function inGateSpan<T>(name: string, act: (span: Span) => Promise<T>): Promise<T> {
  return trace.getTracer('mcp-observatory/policy', VERSION).startActiveSpan(name, async (span) => {
    try {
      return await act(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute(semconv.ATTR_ERROR_TYPE, error instanceof Error ? error.name : '_OTHER');
      throw error;
    } finally {
      span.end();
    }
  });
}

export function addGateEvent(
  span: Span,
  outcome: 'pass' | 'stop',
  reason: ReasonCode,
  gate: Gate = gateOf(reason),
): void {
  span.addEvent(EVENT_GATE, {
    'observatory.policy_gate': gate,
    'observatory.policy_outcome': outcome,
    [toAttribute('policy_reason')]: reason,
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
    [semconv.ATTR_GEN_AI_TOOL_NAME]: tool,
    [toAttribute('policy_decision')]: decision.decision,
    [toAttribute('policy_reason')]: decision.reasonCode,
    [toAttribute('gate_blocked')]: isStopped,
    'observatory.policy_enforcement': decision.enforcement,
    'observatory.policy_rule_ids': [...decision.ruleIds],
  });
  if (decision.policyHash !== null) span.setAttribute(toAttribute('policy_hash'), decision.policyHash);
  if (decision.toolHash !== null) span.setAttribute(toAttribute('tool_hash'), decision.toolHash);
  if (decision.argsDigest !== null) span.setAttribute(toAttribute('tool_args_hash'), decision.argsDigest);
  if (decision.sources !== undefined)
    span.setAttribute('observatory.argument_sources', decision.sources.map(describeSource));
  if (decision.effect !== undefined) {
    const { name, key, state } = decision.effect;
    span.setAttributes({ [semconv.ATTR_EFFECT_NAME]: name, [semconv.ATTR_EFFECT_KEY]: key });
    if (state !== undefined) span.setAttribute(semconv.ATTR_EFFECT_OUTCOME, state);
  }
  if (riskTier !== undefined) span.setAttribute(toAttribute('risk_tier'), riskTier);
  addGateEvent(span, isStopped ? 'stop' : 'pass', decision.reasonCode, decision.gate);
  if (semconv.wantsComingNames()) {
    span.addEvent(semconv.EVENT_GEN_AI_TOOL_CALL_DECISION, {
      [semconv.ATTR_GEN_AI_TOOL_CALL_DECISION_OUTCOME]: decision.decision,
      [semconv.ATTR_GEN_AI_TOOL_NAME]: tool,
    });
    const verdict = GUARDRAIL_WORDS[decision.decision];
    setGuardrail(span, verdict, isStopped ? verdict : 'allow', decision.reasonCode);
  }
  if (isStopped) setFallback(span, decision.decision === 'require_approval' ? 'human_review' : 'template');
}

const GUARDRAIL_WORDS = { allow: 'allow', deny: 'block', require_approval: 'escalate' } as const;

/** The proposed attributes of guardrails. In shadow mode the action differs from the verdict. */
function setGuardrail(span: Span, verdict: string, action: string, reason: ReasonCode): void {
  span.setAttributes({
    [semconv.ATTR_GEN_AI_GUARDRAIL_COMPONENT_NAME]: 'mcp-observatory',
    [semconv.ATTR_GEN_AI_GUARDRAIL_TARGET_TYPE]: 'tool_call',
    [semconv.ATTR_GEN_AI_GUARDRAIL_VERDICT_TYPE]: verdict,
    [semconv.ATTR_GEN_AI_GUARDRAIL_VERDICT_REASON]: reason,
    [semconv.ATTR_GEN_AI_GUARDRAIL_ACTION_TYPE]: action,
  });
}

/** Records that a gate stopped a step outside of a call, which has no decision of its own. */
export function setRefusal(span: Span, reason: ReasonCode): void {
  addGateEvent(span, 'stop', reason);
  span.setAttributes({
    [toAttribute('policy_decision')]: 'deny',
    [toAttribute('policy_reason')]: reason,
    [toAttribute('gate_blocked')]: true,
  });
}

/** Records that the gate answered in place of the tool: a fallback, for a violation of policy. */
export function setFallback(span: Span, type: 'human_review' | 'template'): void {
  span.setAttributes({
    [toAttribute('gate_blocked')]: true,
    [toAttribute('fallback_used')]: true,
    [toAttribute('fallback_type')]: type,
    [toAttribute('fallback_reason')]: 'policy_violation',
  });
}

/** Servers and tools that get series of their own. */
const MAX_NAMES = 50;
const OTHER = '_other';

const servers = new BoundedNames(MAX_NAMES);
const tools = new BoundedNames(MAX_NAMES);
let counter: { readonly provider: MeterProvider; readonly decisions: Counter } | undefined;

/**
 * Counts a decision of the gate in `observatory.gate.decisions`: by decision, reason, gate, whether it is enforced,
 * server and tool. A tool that no server lists is `_other`: a model can make up any number of names.
 *
 * A failure to count is logged through `diag` and does not change the decision.
 */
export function countDecision(decision: Decision, server: string, tool: string): void {
  try {
    const isListed = decision.toolHash !== null;
    decisionsNow().add(1, {
      [toAttribute('policy_decision')]: decision.decision,
      [toAttribute('policy_reason')]: decision.reasonCode,
      'observatory.policy_gate': decision.gate,
      'observatory.policy_enforcement': decision.enforcement,
      'observatory.server': isListed ? servers.admit(server) : OTHER,
      [semconv.ATTR_GEN_AI_TOOL_NAME]: isListed ? tools.admit(tool) : OTHER,
    });
  } catch (error) {
    diag.error('mcp-observatory: a decision could not be counted', error);
  }
}

/** The counter of the current meter provider; one created before an SDK starts would count nothing. */
function decisionsNow(): Counter {
  const provider = metrics.getMeterProvider();
  if (counter?.provider !== provider) {
    const decisions = provider
      .getMeter('mcp-observatory', VERSION)
      .createCounter('observatory.gate.decisions', {
        unit: '{decision}',
        description: 'Decisions of the policy gate about tool calls',
      });
    counter = { provider, decisions };
  }
  return counter.decisions;
}
