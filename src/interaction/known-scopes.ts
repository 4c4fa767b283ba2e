/** What instrumentations leave out of their spans. To add one, read its published code, and add a row. */

/** Providers whose own input leaves out cached tokens. */
export const EXCLUSIVE: ReadonlySet<string | undefined> = new Set(['anthropic', 'aws.bedrock']);

interface KnownScope {
  /** The names of its tracers, or origins in the words of Sentry, separated by white space. */
  readonly names: string;
  /** Where that can be read. */
  readonly source: string;
  /** The providers whose input it passes on as it is, without cached tokens; `all` where it takes them out of any. */
  readonly passesOn?: string;
  /**
   * `cache`: it never tells what was read from a cache, or not of a stream. `cache writes`: it tells that, and not what
   * was written. `cache and thoughts`: it never tells either, and its output has no thoughts.
   */
  readonly hides?: 'cache' | 'cache writes' | 'cache and thoughts';
  /** Spans, by `version name`, of which that is so. @defaultValue all */
  readonly hidesIn?: RegExp;
  /** The minor version of the conventions 1.x in the URL of its schema since it tells of a cache. */
  readonly tellsFrom?: number;
  /** Spans, by `version name`, whose input has what was read from a cache twice. */
  readonly countsTwice?: RegExp;
  /** Spans, by `version name`, whose output has what tools of the provider gave, which is input. */
  readonly mixesTools?: RegExp;
  /** It cuts the place of an inference profile off a model's id, as `us.` or `global.`. */
  readonly cutsPlace?: true;
}

const named = (prefix: string, names: string): string =>
  names
    .split(/\s+/)
    .map((name) => prefix + name)
    .join(' ');

const KNOWN_SCOPES: readonly KnownScope[] = [
  {
    names:
      '@traceloop/instrumentation-anthropic @openlit/instrumentation-anthropic openlit.instrumentation.bedrock openinference.instrumentation.agno',
    source: 'their published code; Agno: _get_metrics of models/*/*.py, whose total is net too',
    passesOn: 'anthropic aws.bedrock gcp.vertex_ai AzureFoundry',
  },
  {
    names: '@traceloop/instrumentation-bedrock',
    source: 'instrumentation.ts: _extractVendorAndModel; of a stream, amazon-bedrock-invocationMetrics',
    hides: 'cache',
    cutsPlace: true,
  },
  {
    names: 'opentelemetry.instrumentation.bedrock',
    source: 'Traceloop: __init__.py, _cross_region_check',
    passesOn: 'aws.bedrock',
    cutsPlace: true,
  },
  {
    names: 'openlit.anthropic',
    source: 'OpenLIT for Go: anthropic/*.go',
    passesOn: 'anthropic',
    hides: 'cache',
  },
  { names: 'openlit.openai', source: 'OpenLIT for Go: instrumentation/openai/streaming.go', hides: 'cache' },
  { names: 'traceloop.tracer', source: 'Traceloop for Go: traceloop-sdk/sdk.go', hides: 'cache' },
  { names: 'langwatch', source: 'its published code in Python', hides: 'cache' },
  {
    names: `com.arize.langchain4j ${named(
      'openinference.instrumentation.',
      'agentspec beeai cohere google_adk groq haystack mistralai ollama portkey smolagents together vertexai',
    )} ${named('@arizeai/openinference-instrumentation-', 'anthropic beeai claude-agent-sdk bedrock-agent-runtime')}`,
    source:
      'OpenInference: python/instrumentation, js/packages and java have no name of a cached count in these',
    hides: 'cache',
  },
  {
    names: named('opentelemetry.instrumentation.', 'agno cohere crewai ollama together watsonx'),
    source: 'Traceloop: likewise packages in Python',
    hides: 'cache',
  },
  {
    names: `${named(
      'openlit.instrumentation.',
      'ag2 agent_framework agno crewai langgraph letta openai_agents pydantic_ai smolagents together',
    )} ${named(
      '@openlit/instrumentation-',
      'cohere langgraph llamaindex mistral ollama openai-agents together vercel-ai vllm',
    )}`,
    source: 'OpenLIT: likewise sdk/python and sdk/typescript',
    hides: 'cache',
  },
  {
    names: `@opentelemetry/instrumentation-openai ${named('opentelemetry.instrumentation.', 'openai_v2 openai_agents')}`,
    source: 'OpenTelemetry contrib: instrumentation.ts, patch.py (of chat), span_processor.py',
    hides: 'cache',
  },
  {
    names: 'opentelemetry.instrumentation.vertexai',
    source: 'OpenTelemetry contrib: vertexai/patch.py; that of Traceloop tells the total',
    hides: 'cache and thoughts',
  },
  {
    names:
      'semantic_kernel.utils.telemetry.model_diagnostics.decorators Microsoft.SemanticKernel.Diagnostics',
    source: 'Semantic Kernel: decorators.py, ModelDiagnostics.cs',
    hides: 'cache',
  },
  { names: 'OpenAI.ChatClient', source: 'openai-dotnet: OpenTelemetryScope.cs', hides: 'cache' },
  {
    names: 'Experimental.Microsoft.Extensions.AI',
    source: 'OpenTelemetryChatClient.cs',
    hides: 'cache writes',
  },
  { names: 'io.opentelemetry.openai-java-1.1', source: 'run with 2.31.1-alpha', hides: 'cache' },
  { names: 'io.opentelemetry.contrib.php.openaiphp', source: 'OpenAIPHPInstrumentation.php', hides: 'cache' },
  {
    names: 'OpenTelemetry::Instrumentation::RubyLLM',
    source: 'opentelemetry-instrumentation-ruby_llm: patches/chat.rb; ruby_llm: protocols/*/chat.rb',
    passesOn: 'all',
    hides: 'cache',
  },
  { names: 'gcp.vertex.agent', source: 'google-adk: telemetry/tracing.py', tellsFrom: 36 },
  { names: 'opentelemetry.instrumentation.google_genai', source: 'its generate_content.py', tellsFrom: 37 },
  {
    names: 'openinference.instrumentation.google_genai',
    source: 'OpenInference: interactions_attributes.py; of versions up to 0.1.15, _utils.py',
    hides: 'cache',
    hidesIn: /^0\.1\.(?:\d|1[0-2]) (?!.*InteractionsResource)/,
    countsTwice: /^0\.1\.1[3-5] |InteractionsResource/,
    mixesTools: /InteractionsResource/,
  },
  {
    names: 'arize-claude-plugin',
    source: 'Arize coding-harness-tracing: handlers.py, up to June 2026',
    hides: 'cache',
  },
  { names: 'auto.ai.litellm', source: 'sentry-python: integrations/litellm.py', hides: 'cache' },
];

const BY_NAME: ReadonlyMap<string, KnownScope> = new Map(
  KNOWN_SCOPES.flatMap((scope) => scope.names.split(/\s+/).map((name) => [name, scope] as const)),
);

/** The first conventions 1.x with names of what was read from a cache and written to it. */
const WITH_CACHE = 40;
/** Azure's writes the name of its constant: `OpenTelemetrySchemaVersion.V1_23_1`. */
const SCHEMA = /^https:\/\/opentelemetry\.io\/schemas\/(?:\w{1,40}\.V)?1[._](\d{1,3})[._]/;

/** Whether its writer states conventions that have no name for what was read from a cache. */
export function hasNoNameOfCache(schemaUrl: string | undefined, known: KnownScope | undefined): boolean {
  const minor = SCHEMA.exec(schemaUrl ?? '')?.[1];
  return minor !== undefined && Number(minor) < (known?.tellsFrom ?? WITH_CACHE);
}

export function findKnownScope(name: string | undefined): KnownScope | undefined {
  return name === undefined ? undefined : BY_NAME.get(name);
}
