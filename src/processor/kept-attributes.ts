/**
 * The attributes that stay when content is removed: of resources, scopes, spans, events and links. Every other name is
 * removed, so a new way to write a prompt is not a leak. `redactContent`, the service, and the Collector's
 * `redaction/no_content` go by this one table; `npm run generate` writes it to `otel-collector.yaml`.
 */
import { FIELDS, USAGE_ATTRIBUTES } from '../base/index.ts';

export interface KeptSection {
  readonly title: string;
  readonly names: readonly string[];
}

/** Names that hold numbers and booleans only: a text under one of them is removed. */
const NUMBERS = new Set<string>();

/** Reads names that are separated by white space; a name with `#` holds numbers and booleans only. */
function section(title: string, names: string): KeptSection {
  const read = (name: string): string => {
    if (!name.endsWith('#')) return name;
    NUMBERS.add(name.slice(0, -1));
    return name.slice(0, -1);
  };
  return { title, names: names.trim().split(/\s+/).map(read) };
}

/** The names that columns are read from: ids and models under the names of other instrumentations stay too. */
const columns = FIELDS.filter(({ origin }) => origin !== 'span').flatMap(({ column, sqlType, sources }) =>
  [`observatory.${column}`, ...sources].map((name) =>
    sqlType === 'text' || sqlType === 'uuid' ? name : `${name}#`,
  ),
);

export const KEPT_SECTIONS: readonly KeptSection[] = [
  section('the columns of mcp_traces, and what they are read from', [...new Set(columns)].join(' ')),
  section(
    'mcp-observatory: gate, orchestrator, evidence',
    `
    observatory.policy_enforcement observatory.policy_gate observatory.policy_outcome
    observatory.policy_rule_ids observatory.argument_sources observatory.audit_head observatory.audit_run observatory.barred_tool observatory.breaker_state
    observatory.effect_key observatory.effect_name observatory.effect_outcome
    observatory.evidence_coverage# observatory.evidence_distinct_spans# observatory.evidence_exact_ratio#
    observatory.failed_tool observatory.failure_kind observatory.loop_decision observatory.messages_after#
    observatory.messages_before# observatory.outcome observatory.recovery_action observatory.server
    observatory.stop_reason observatory.stream_end observatory.tool_call_count#
    observatory.progress.total# observatory.progress.value# observatory.shadow.name
    observatory.hashes_sampled# observatory.scores_sampled# observatory.shadow.outcome observatory.review_id observatory.review_status observatory.transport observatory.truncated#
    `,
  ),
  section(
    'GenAI',
    `
    gen_ai.request.choice.count# gen_ai.request.encoding_formats gen_ai.request.frequency_penalty#
    gen_ai.request.max_tokens# gen_ai.request.presence_penalty# gen_ai.request.previous_response.id
    gen_ai.request.reasoning.level gen_ai.request.seed# gen_ai.request.service_tier gen_ai.request.stream#
    gen_ai.request.temperature# gen_ai.request.top_k# gen_ai.request.top_p#
    gen_ai.response.service_tier
    gen_ai.response.time_to_first_chunk# gen_ai.output.type gen_ai.agent.id gen_ai.agent.name
    gen_ai.agent.version gen_ai.data_source.id gen_ai.tool.type gen_ai.tool.call.id
    gen_ai.tool.call.decision.outcome gen_ai.guardrail.component.name gen_ai.guardrail.target.type
    gen_ai.guardrail.verdict.type gen_ai.guardrail.verdict.reason gen_ai.guardrail.action.type
    gen_ai.prompt.version gen_ai.workflow.name gen_ai.evaluation.name
    openai.api.type openai.request.service_tier openai.response.service_tier
    openai.response.system_fingerprint gen_ai.embeddings.dimension.count# gen_ai.evaluation.score.label
    gen_ai.evaluation.score.value# anthropic.response.service_tier
    `,
  ),
  section(
    'GenAI: OpenInference, OpenLLMetry, AI SDK, Langfuse, LangSmith, MLflow, Genkit',
    `
    langfuse.observation.type langsmith.span.kind mlflow.spanType genkit:type genkit:metadata:subtype
    openinference.span.kind llm.response.id llm.is_streaming# reranker.model_name input.mime_type
    output.mime_type tool.id traceloop.span.kind traceloop.entity.name traceloop.entity.path
    traceloop.workflow.name ai.toolCall.id ai.usage.inputTokenDetails.noCacheTokens#
    `,
  ),
  section('tokens and costs', USAGE_ATTRIBUTES.map((name) => `${name}#`).join(' ')),
  section(
    'MCP',
    `
    mcp.protocol.version mcp.client.version
    mcp.server.version observatory.mcp.client.version
    observatory.mcp.server.version observatory.mcp.task.id observatory.mcp.task.status
    observatory.mcp.result_type observatory.error_kind observatory.mcp.cache_scope observatory.mcp.ttl_ms# mcp.transport jsonrpc.protocol.version jsonrpc.request.id rpc.jsonrpc.error_code
    rpc.response.status_code
    `,
  ),
  section(
    'errors and events',
    `
    error.type exception.type exception.escaped# role finish_reason event.name
    `,
  ),
  section(
    'HTTP, RPC, databases, messaging: no addresses with a query, no headers, no statements',
    `
    http.request.method http.response.status_code# http.route http.method
    http.status_code# url.scheme rpc.method rpc.service rpc.system rpc.system.name rpc.grpc.status_code#
    db.system db.system.name db.namespace db.collection.name db.operation.name db.response.status_code
    messaging.system messaging.destination.name messaging.operation.name messaging.operation.type
    network.local.address network.local.port# network.peer.address network.peer.port# network.protocol.name
    network.protocol.version network.transport network.type client.address client.port# server.address
    server.port# peer.service thread.id# thread.name
    `,
  ),
  section(
    'where it ran',
    `
    service.namespace service.version service.instance.id service.criticality
    deployment.environment deployment.environment.name telemetry.sdk.language telemetry.sdk.name
    telemetry.sdk.version telemetry.distro.name telemetry.distro.version process.pid# process.runtime.name
    process.runtime.version host.name host.id host.arch os.type os.version container.id container.name
    container.image.name k8s.cluster.name k8s.namespace.name k8s.node.name k8s.pod.name k8s.pod.uid
    k8s.deployment.name cloud.provider cloud.region cloud.availability_zone cloud.account.id faas.name
    faas.version
    `,
  ),
];

/** By name, whether only numbers and booleans stay. */
const KEPT: ReadonlyMap<string, boolean> = new Map(
  KEPT_SECTIONS.flatMap(({ names }) => names.map((name): [string, boolean] => [name, NUMBERS.has(name)])),
);

const FRAMES = /^(?: {4}at [^\n]{1,250}(?:\n|$)){1,50}$/;

/** Whether an attribute stays when content is removed. */
export function isKept(key: string, value: unknown): boolean {
  // A stack as it is usually written begins with the message.
  if (key === 'exception.stacktrace') return typeof value === 'string' && FRAMES.test(value);
  const isNumber = KEPT.get(key);
  if (isNumber !== true) return isNumber !== undefined;
  return typeof value === 'number' || typeof value === 'boolean';
}
