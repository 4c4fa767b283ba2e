import { semconv } from '../../base/index.ts';
import { contentText, responseAttributes } from '../../interaction/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import type { AgentAttributes, AgentEvent } from './event.ts';

/** What an event becomes: a row of the run it belongs to. */
export interface AgentCall {
  /** `prompt` begins a run, `answer` completes a model call of the same key. */
  readonly kind: 'prompt' | 'model' | 'tool' | 'answer';
  /** Ids that name the run: its session, and its prompt where the agent has an id for it. */
  readonly run: readonly string[];
  /** Whether its row is the root of the run. */
  readonly isRoot?: boolean | undefined;
  /** Id of the call, unique in the run; without one, what the event holds tells it from others. */
  readonly key: string | undefined;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Why it failed: its class, and the message if the agent sends it. */
  readonly failure?: { readonly type: string; readonly message: string | undefined } | undefined;
}

/** What a span of an agent becomes: the span with these attributes and this name. */
export type AgentSpan = Pick<AgentCall, 'name' | 'attributes' | 'failure'>;

/** How the events and spans of one agent are read. */
export interface AgentDialect {
  /** Name of the client and of the agent. */
  readonly agent: string;
  /** By name of the event; an event that adds nothing gives undefined. */
  readonly events: Readonly<Record<string, (event: AgentEvent) => AgentCall | undefined>>;
  /** By name of the span. Others are stored as they are. */
  readonly spans?: Readonly<Record<string, (attributes: AgentAttributes) => AgentSpan | undefined>>;
  /** Scope of spans that say less than the events beside them, in other traces; they are not stored. */
  readonly repeatingScope?: string;
}

/** Attributes of a model call with what the agent knows of it. */
export function modelAttributes({
  provider,
  model,
  costUsd,
  responseId,
  ...usage
}: TokenUsage & {
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly costUsd?: number | undefined;
  readonly responseId?: string | undefined;
}): Record<string, unknown> {
  return {
    [semconv.ATTR_GEN_AI_OPERATION_NAME]: semconv.GEN_AI_OPERATION_NAME_VALUE_CHAT,
    [semconv.ATTR_GEN_AI_PROVIDER_NAME]: provider,
    [semconv.ATTR_GEN_AI_REQUEST_MODEL]: model,
    ...responseAttributes({ responseId, usage }),
    ...(costUsd === undefined
      ? {}
      : {
          [semconv.ATTR_GEN_AI_USAGE_COST_AMOUNT]: costUsd,
          [semconv.ATTR_GEN_AI_USAGE_COST_CURRENCY]: 'USD',
          [semconv.ATTR_GEN_AI_USAGE_COST_SOURCE]: 'provider',
        }),
  };
}

/** Attributes of a tool call. */
export function toolAttributes(parts: {
  readonly tool: string;
  readonly server: string | undefined;
  readonly callId: string | undefined;
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
}): Record<string, unknown> {
  return {
    [semconv.ATTR_GEN_AI_OPERATION_NAME]: semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
    [semconv.ATTR_GEN_AI_TOOL_NAME]: parts.tool,
    [semconv.ATTR_GEN_AI_TOOL_CALL_ID]: parts.callId,
    'observatory.mcp_server': parts.server,
    [semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS]: parts.arguments && contentText(parts.arguments),
    [semconv.ATTR_GEN_AI_TOOL_CALL_RESULT]: parts.result && contentText(parts.result),
  };
}
