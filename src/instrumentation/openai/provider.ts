/** Hosts that answer OpenAI's API under another name, by the end of the host name, in semconv's words. */
const PROVIDER_OF_HOST: readonly (readonly [string, string])[] = [
  ['openai.azure.com', 'azure.ai.openai'],
  ['cognitiveservices.azure.com', 'azure.ai.openai'],
  ['models.ai.azure.com', 'azure.ai.inference'],
  ['services.ai.azure.com', 'azure.ai.inference'],
  ['amazonaws.com', 'aws.bedrock'],
  ['groq.com', 'groq'],
  ['deepseek.com', 'deepseek'],
  ['mistral.ai', 'mistral_ai'],
  ['perplexity.ai', 'perplexity'],
  ['x.ai', 'x_ai'],
  ['cohere.com', 'cohere'],
  ['cohere.ai', 'cohere'],
  ['moonshot.ai', 'moonshot_ai'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
];

/** Who answers: this SDK is also the client of Azure, Groq, DeepSeek, xAI and others. Unknown hosts count as `openai`. */
export function providerOfHost(host: string | undefined): string {
  if (host === undefined) return 'openai';
  for (const [end, provider] of PROVIDER_OF_HOST) {
    if (host.endsWith(end) && (host.length === end.length || host.at(-end.length - 1) === '.'))
      return provider;
  }
  return 'openai';
}
