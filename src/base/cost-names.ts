/** Names under which costs are reported: one table for spans and for the usage objects in providers' answers. */

/** A name under which a cost is reported, in US dollars times `perUsd`, or as an object that has the total. */
export interface CostName {
  readonly name: string;
  readonly on: 'span' | 'json';
  readonly source: string;
  /** Computed by an instrumentation from its own list of prices, where 0 stands for a model it does not know. */
  readonly isComputed?: boolean;
  /** The attribute with the rest: neither is the cost without the other. */
  readonly and?: string;
  /** An object without a total has the costs of all parts, whatever their names. @defaultValue if input and output are named */
  readonly isParts?: boolean;
  /** @defaultValue 1 */
  readonly perUsd?: number;
}

/** Reported costs, in order of precedence. */
export const COST_NAMES: readonly CostName[] = [
  { name: 'llm.cost.total', on: 'span', source: 'OpenInference semantic conventions' },
  { name: 'gen_ai.usage.cost', on: 'span', source: 'OpenLIT; OpenRouter Broadcast', isComputed: true },
  { name: 'gen_ai.usage.total_cost', on: 'span', source: 'AgentOps, Opik', isComputed: true },
  { name: 'gen_ai.cost.total_cost', on: 'span', source: 'LiteLLM: opentelemetry.py', isComputed: true },
  { name: 'gen_ai.cost.total_tokens', on: 'span', source: 'Sentry conventions', isComputed: true },
  {
    name: 'llm.cost.prompt',
    and: 'llm.cost.completion',
    on: 'span',
    source: 'OpenInference semantic conventions',
    isComputed: true,
  },
  {
    name: 'gen_ai.cost.input_tokens',
    and: 'gen_ai.cost.output_tokens',
    on: 'span',
    source: 'Sentry conventions',
    isComputed: true,
  },
  { name: 'operation.cost', on: 'span', source: 'Pydantic AI: messages.py', isComputed: true },
  {
    name: 'langfuse.observation.cost_details',
    on: 'span',
    source: 'Langfuse SDKs 3 to 5: langfuse/_client/attributes.py; JSON',
    isComputed: true,
    isParts: true,
  },
  {
    name: 'mlflow.llm.cost',
    on: 'span',
    source: 'MLflow 3: mlflow/tracing/constant.py; JSON',
    isComputed: true,
  },
  {
    name: 'cost',
    on: 'json',
    source: 'OpenRouter: usage accounting; the AI Gateway of Vercel; objects: Perplexity, pi',
  },
  { name: 'cost_in_usd_ticks', on: 'json', source: 'xAI: usage', perUsd: 1e10 },
  { name: 'costInUsdTicks', on: 'json', source: 'AI SDK: providerMetadata.xai', perUsd: 1e10 },
  { name: 'estimated_cost', on: 'json', source: 'DeepInfra: usage' },
];
