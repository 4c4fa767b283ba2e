/**
 * Names under which token counts and costs are reported: one table for the attributes of spans and for the usage
 * objects in providers' answers. To read another dialect, add an entry; see `UsageReader`.
 */
import * as semconv from './semconv.ts';

/** What is counted. Tokens of a kind are part of the input or the output, unless their entry says that they are not. */
export const USAGE_UNITS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
  'reasoningTokens',
  /** Of results of tools that the provider ran, beside the input (Gemini). */
  'toolPromptTokens',
  'inputAudioTokens',
  'cacheReadAudioTokens',
  'inputImageTokens',
  'cacheReadImageTokens',
  'inputVideoTokens',
  'outputAudioTokens',
  'outputImageTokens',
  'outputVideoTokens',
  'citationTokens',
  'webSearches',
  'fileSearches',
] as const;

export type UsageUnit = (typeof USAGE_UNITS)[number];

export interface UsageDialect {
  /** Who writes these names, and where that can be read. */
  readonly source: string;
  /** `span`: attributes. `json`: members of a usage object, with dots where they are nested. */
  readonly on: 'span' | 'json';
  /** Cached tokens are beside the input. @defaultValue in it, unless the total tells otherwise */
  readonly cacheApart?: true;
  /** Reasoning is beside the output. @defaultValue in it, unless the total tells otherwise */
  readonly reasoningApart?: true;
  /** Names by unit, separated by white space. The first name of the first dialect that has a valid value counts. */
  readonly names: { readonly [U in UsageUnit]?: string };
}

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
    source: 'Strands Agents: tracer.py of the Python SDK',
    on: 'span',
    names: { cacheWriteTokens: 'gen_ai.usage.cache_write_input_tokens' },
  },
  {
    source:
      'OpenAI Chat Completions, and what OpenRouter, DeepSeek, Moonshot, Qwen, LiteLLM and xAI add to it',
    on: 'json',
    names: {
      inputTokens: 'prompt_tokens',
      outputTokens: 'completion_tokens',
      totalTokens: 'total_tokens',
      cacheReadTokens:
        'prompt_tokens_details.cached_tokens prompt_cache_hit_tokens cached_tokens num_cached_tokens',
      cacheWriteTokens:
        'prompt_tokens_details.cache_write_tokens prompt_tokens_details.cache_creation_input_tokens prompt_tokens_details.cache_creation_tokens',
      cacheWrite5mTokens: 'prompt_tokens_details.cache_creation.ephemeral_5m_input_tokens',
      cacheWrite1hTokens:
        'prompt_tokens_details.cache_creation.ephemeral_1h_input_tokens prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens',
      reasoningTokens: 'completion_tokens_details.reasoning_tokens reasoning_tokens',
      inputAudioTokens: 'prompt_tokens_details.audio_tokens',
      cacheReadAudioTokens: 'prompt_tokens_details.cached_tokens_details.audio_tokens',
      inputImageTokens: 'prompt_tokens_details.image_tokens',
      inputVideoTokens: 'prompt_tokens_details.video_tokens',
      outputAudioTokens: 'completion_tokens_details.audio_tokens',
      outputImageTokens: 'completion_tokens_details.image_tokens',
      citationTokens: 'citation_tokens',
      webSearches:
        'server_tool_use.web_search_requests server_side_tool_usage_details.web_search_calls num_sources_used',
      fileSearches: 'server_side_tool_usage_details.file_search_calls',
    },
  },
  {
    source: 'OpenAI Responses, Images, Transcriptions and Realtime',
    on: 'json',
    names: {
      inputTokens: 'input_tokens',
      outputTokens: 'output_tokens',
      totalTokens: 'total_tokens',
      cacheReadTokens: 'input_tokens_details.cached_tokens input_token_details.cached_tokens',
      cacheWriteTokens: 'input_tokens_details.cache_write_tokens',
      reasoningTokens: 'output_tokens_details.reasoning_tokens output_token_details.reasoning_tokens',
      inputAudioTokens: 'input_tokens_details.audio_tokens input_token_details.audio_tokens',
      cacheReadAudioTokens:
        'input_tokens_details.cached_tokens_details.audio_tokens input_token_details.cached_tokens_details.audio_tokens',
      inputImageTokens: 'input_tokens_details.image_tokens input_token_details.image_tokens',
      cacheReadImageTokens:
        'input_tokens_details.cached_tokens_details.image_tokens input_token_details.cached_tokens_details.image_tokens',
      outputAudioTokens: 'output_tokens_details.audio_tokens output_token_details.audio_tokens',
      outputImageTokens: 'output_tokens_details.image_tokens',
    },
  },
  {
    source: 'Anthropic Messages: usage',
    on: 'json',
    cacheApart: true,
    names: {
      inputTokens: 'input_tokens',
      outputTokens: 'output_tokens',
      cacheReadTokens: 'cache_read_input_tokens',
      cacheWriteTokens: 'cache_creation_input_tokens',
      cacheWrite5mTokens: 'cache_creation.ephemeral_5m_input_tokens',
      cacheWrite1hTokens: 'cache_creation.ephemeral_1h_input_tokens',
      reasoningTokens: 'output_tokens_details.thinking_tokens',
      webSearches: 'server_tool_use.web_search_requests',
    },
  },
  {
    source: 'Gemini generateContent: usageMetadata',
    on: 'json',
    reasoningApart: true,
    names: {
      inputTokens: 'promptTokenCount',
      outputTokens: 'candidatesTokenCount responseTokenCount',
      totalTokens: 'totalTokenCount',
      cacheReadTokens: 'cachedContentTokenCount',
      reasoningTokens: 'thoughtsTokenCount',
      toolPromptTokens: 'toolUsePromptTokenCount',
      inputAudioTokens: 'promptTokensDetails.AUDIO',
      cacheReadAudioTokens: 'cacheTokensDetails.AUDIO',
      inputImageTokens: 'promptTokensDetails.IMAGE',
      cacheReadImageTokens: 'cacheTokensDetails.IMAGE',
      inputVideoTokens: 'promptTokensDetails.VIDEO',
      outputAudioTokens: 'candidatesTokensDetails.AUDIO responseTokensDetails.AUDIO',
      outputImageTokens: 'candidatesTokensDetails.IMAGE responseTokensDetails.IMAGE',
      outputVideoTokens: 'candidatesTokensDetails.VIDEO responseTokensDetails.VIDEO',
    },
  },
  {
    source: 'Gemini Interactions: usage',
    on: 'json',
    reasoningApart: true,
    names: {
      inputTokens: 'total_input_tokens',
      outputTokens: 'total_output_tokens',
      totalTokens: 'total_tokens',
      cacheReadTokens: 'total_cached_tokens',
      reasoningTokens: 'total_thought_tokens',
      toolPromptTokens: 'total_tool_use_tokens',
    },
  },
  {
    source: 'Amazon Bedrock: TokenUsage of Converse, and amazon-bedrock-invocationMetrics',
    on: 'json',
    cacheApart: true,
    names: {
      inputTokens: 'inputTokens inputTokenCount',
      outputTokens: 'outputTokens outputTokenCount',
      totalTokens: 'totalTokens',
      cacheReadTokens: 'cacheReadInputTokens cacheReadInputTokenCount',
      cacheWriteTokens: 'cacheWriteInputTokens cacheWriteInputTokenCount',
    },
  },
  {
    source: 'AI SDK 4 to 7: LanguageModelUsage, and the usage of LanguageModelV3',
    on: 'json',
    names: {
      inputTokens: 'inputTokens promptTokens inputTokens.total tokens',
      outputTokens: 'outputTokens completionTokens outputTokens.total',
      totalTokens: 'totalTokens',
      cacheReadTokens: 'inputTokenDetails.cacheReadTokens cachedInputTokens inputTokens.cacheRead',
      cacheWriteTokens: 'inputTokenDetails.cacheWriteTokens inputTokens.cacheWrite',
      reasoningTokens: 'outputTokenDetails.reasoningTokens reasoningTokens outputTokens.reasoning',
    },
  },
  {
    source: 'LangChain: UsageMetadata, which langsmith.usage_metadata holds',
    on: 'json',
    names: {
      cacheReadTokens: 'input_token_details.cache_read',
      cacheWriteTokens: 'input_token_details.cache_creation',
      cacheWrite5mTokens: 'input_token_details.ephemeral_5m_input_tokens',
      cacheWrite1hTokens: 'input_token_details.ephemeral_1h_input_tokens',
      reasoningTokens: 'output_token_details.reasoning',
      inputAudioTokens: 'input_token_details.audio',
      outputAudioTokens: 'output_token_details.audio',
    },
  },
  {
    source: 'Cohere Chat v2: usage.tokens, of which usage.billed_units is what is billed',
    on: 'json',
    names: { inputTokens: 'billed_units.input_tokens', outputTokens: 'billed_units.output_tokens' },
  },
];

/** Attributes that hold a usage object as JSON text, in the names of the dialects on `json`. */
export const USAGE_OBJECT_ATTRIBUTES: readonly string[] = [
  'langsmith.usage_metadata',
  'langsmith.metadata.usage_metadata',
];

/** A name under which a cost is reported, in US dollars times `perUsd`. */
export interface CostName {
  readonly name: string;
  readonly on: 'span' | 'json';
  readonly source: string;
  /** Computed by an instrumentation from its own list of prices, where 0 stands for a model it does not know. */
  readonly isComputed?: boolean;
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
  { name: 'operation.cost', on: 'span', source: 'Pydantic AI: messages.py', isComputed: true },
  { name: 'cost', on: 'json', source: 'OpenRouter: usage accounting; the AI Gateway of Vercel' },
  { name: 'cost.total_cost', on: 'json', source: 'Perplexity: usage.cost' },
  { name: 'cost_in_usd_ticks', on: 'json', source: 'xAI: usage', perUsd: 1e10 },
  { name: 'costInUsdTicks', on: 'json', source: 'AI SDK: providerMetadata.xai', perUsd: 1e10 },
  { name: 'estimated_cost', on: 'json', source: 'DeepInfra: usage' },
];

/** The names of a unit on spans, in order of precedence. */
export function usageAttributesOf(unit: UsageUnit): readonly string[] {
  return USAGE_DIALECTS.filter(({ on }) => on === 'span').flatMap(({ names }) => splitNames(names[unit]));
}

/** The names of a unit in one dialect. */
export function splitNames(names: string | undefined): readonly string[] {
  return names?.split(/\s+/) ?? [];
}

/** All names of counts and costs on spans. */
export const USAGE_ATTRIBUTES: readonly string[] = [
  ...USAGE_UNITS.flatMap(usageAttributesOf),
  ...COST_NAMES.filter(({ on }) => on === 'span').map(({ name }) => name),
];
