/**
 * Names under which token counts and costs are reported on spans; those in usage objects are in `usage-objects.ts`. To
 * read another dialect, add an entry; see `UsageReader`.
 */
import { COST_NAMES } from './cost-names.ts';
import * as semconv from './semconv.ts';
import { splitNames, USAGE_UNITS, type UsageDialect, type UsageUnit } from './usage-dialect.ts';
import { USAGE_OBJECTS } from './usage-objects.ts';

/** Dialects in order of precedence. */
export const USAGE_DIALECTS: readonly UsageDialect[] = [
  {
    source: 'Semantic conventions for GenAI 1.41, and names of their drafts',
    on: 'span',
    names: {
      inputTokens: 'gen_ai.usage.input_tokens gen_ai.usage.prompt_tokens',
      outputTokens: 'gen_ai.usage.output_tokens gen_ai.usage.completion_tokens',
      totalTokens: semconv.ATTR_GEN_AI_USAGE_TOTAL_TOKENS,
      cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens gen_ai.usage.cache_read_input_tokens',
      cacheWriteTokens:
        'gen_ai.usage.cache_creation.input_tokens gen_ai.usage.cache_write.input_tokens gen_ai.usage.cache_creation_input_tokens',
      cacheWrite1hTokens: semconv.ATTR_ANTHROPIC_CACHE_WRITE_1H,
      reasoningTokens: 'gen_ai.usage.reasoning.output_tokens gen_ai.usage.reasoning_tokens',
    },
  },
  {
    source: 'OpenInference semantic conventions: llm.token_count.*',
    on: 'span',
    names: {
      inputTokens: 'llm.token_count.prompt',
      outputTokens: 'llm.token_count.completion',
      totalTokens: 'llm.token_count.total',
      cacheReadTokens: 'llm.token_count.prompt_details.cache_read',
      cacheWriteTokens: 'llm.token_count.prompt_details.cache_write',
      reasoningTokens: 'llm.token_count.completion_details.reasoning',
      inputAudioTokens: 'llm.token_count.prompt_details.audio',
      outputAudioTokens: 'llm.token_count.completion_details.audio',
    },
  },
  {
    source: 'OpenLLMetry: SpanAttributes of opentelemetry-semantic-conventions-ai',
    on: 'span',
    names: {
      inputTokens: 'llm.usage.prompt_tokens',
      outputTokens: 'llm.usage.completion_tokens',
      totalTokens: 'llm.usage.total_tokens',
      cacheReadTokens: 'llm.usage.cache_read_input_tokens',
      cacheWriteTokens: 'llm.usage.cache_creation_input_tokens',
      reasoningTokens: 'llm.usage.reasoning_tokens',
    },
  },
  {
    source: 'AI SDK 4 to 7: the spans of experimental_telemetry',
    on: 'span',
    names: {
      inputTokens: 'ai.usage.inputTokens ai.usage.promptTokens ai.usage.tokens',
      outputTokens: 'ai.usage.outputTokens ai.usage.completionTokens',
      totalTokens: 'ai.usage.totalTokens',
      cacheReadTokens: 'ai.usage.inputTokenDetails.cacheReadTokens ai.usage.cachedInputTokens',
      cacheWriteTokens: 'ai.usage.inputTokenDetails.cacheWriteTokens',
      reasoningTokens: 'ai.usage.outputTokenDetails.reasoningTokens ai.usage.reasoningTokens',
    },
  },
  {
    source: 'Sentry conventions: gen_ai.usage.input_tokens.cached',
    on: 'span',
    names: {
      cacheReadTokens: 'gen_ai.usage.input_tokens.cached',
      cacheWriteTokens: 'gen_ai.usage.input_tokens.cache_write',
      reasoningTokens: 'gen_ai.usage.output_tokens.reasoning',
    },
  },
  {
    source: 'Pydantic AI: gen_ai.usage.details.*, from RequestUsage of pydantic_ai/usage.py',
    on: 'span',
    names: {
      cacheReadTokens:
        'gen_ai.usage.details.cache_read_tokens gen_ai.usage.details.cache_read_input_tokens gen_ai.usage.details.cached_tokens',
      cacheWriteTokens:
        'gen_ai.usage.details.cache_write_tokens gen_ai.usage.details.cache_creation_input_tokens',
      reasoningTokens: 'gen_ai.usage.details.reasoning_tokens gen_ai.usage.details.thoughts_tokens',
      inputAudioTokens: 'gen_ai.usage.details.input_audio_tokens gen_ai.usage.details.audio_prompt_tokens',
      cacheReadAudioTokens: 'gen_ai.usage.details.cache_audio_read_tokens',
      outputAudioTokens:
        'gen_ai.usage.details.output_audio_tokens gen_ai.usage.details.audio_candidates_tokens',
      inputImageTokens: 'gen_ai.usage.details.image_prompt_tokens',
      outputImageTokens: 'gen_ai.usage.details.image_candidates_tokens',
      webSearches: 'gen_ai.usage.details.web_search_requests',
    },
  },
  {
    source:
      'Agent Development Kit up to 2.2: google/adk/telemetry/tracing.py, whose output is the candidates alone',
    on: 'span',
    reasoningApart: true,
    names: {
      outputTokens: 'gen_ai.usage.output_tokens',
      reasoningTokens: 'gen_ai.usage.experimental.reasoning_tokens',
    },
  },
  {
    source: 'Strands Agents: tracer.py of the Python SDK',
    on: 'span',
    names: { cacheWriteTokens: 'gen_ai.usage.cache_write_input_tokens' },
  },
  {
    source:
      'Semantic Kernel up to 1.3x: docs/decisions/0044-OTel-semantic-convention.md; Microsoft.Extensions.AI up to 9.5: OpenTelemetryConsts.cs',
    on: 'span',
    names: {
      inputTokens: 'gen_ai.response.prompt_tokens gen_ai.response.input_tokens',
      outputTokens: 'gen_ai.response.completion_tokens gen_ai.response.output_tokens',
    },
  },
  {
    source: 'Programs that name counts without a prefix on spans of their own',
    on: 'span',
    names: {
      inputTokens: 'input_tokens prompt_tokens',
      outputTokens: 'output_tokens completion_tokens',
      totalTokens: 'total_tokens',
    },
  },
  ...USAGE_OBJECTS,
];

/** Attributes that hold a usage object or an answer with one, mostly as JSON text, in the names of the dialects on `json`. */
export const USAGE_OBJECT_ATTRIBUTES: readonly string[] = [
  'langsmith.usage_metadata',
  'langsmith.metadata.usage_metadata',
  // Agent Development Kit 1: google/adk/telemetry/tracing.py
  'gcp.vertex.agent.llm_response',
  // Logfire for Python: integrations/llm_providers/openai.py
  'response_data',
  // LiveKit Agents: livekit/agents/telemetry/trace_types.py
  'lk.llm_metrics',
  ...USAGE_DIALECTS.flatMap((dialect) => (dialect.in === undefined ? [] : [dialect.in])),
];

/** Attributes that hold a provider's own answer, whose usage goes before what a framework makes of it. */
export const ANSWER_ATTRIBUTES: readonly string[] = ['mlflow.spanOutputs'];

/** The names of a unit on spans, in order of precedence. */
export function toUsageAttributes(unit: UsageUnit): readonly string[] {
  const names = USAGE_DIALECTS.filter(({ on }) => on === 'span').flatMap((told) =>
    splitNames(told.names[unit]),
  );
  return [...new Set(names)];
}

/** All names of counts and costs on spans. */
export const USAGE_ATTRIBUTES: readonly string[] = [
  ...USAGE_UNITS.flatMap(toUsageAttributes),
  ...COST_NAMES.flatMap(({ on, name, and }) => (on === 'json' ? [] : and === undefined ? name : [name, and])),
];
