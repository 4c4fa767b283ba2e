/**
 * Provider names of the semantic conventions. Dialects spell them differently: `OpenAI`, `openai.chat` (the AI SDK
 * appends the API), `vertexai`, `az.ai.openai`.
 */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['openai', 'openai'],
  ['open_ai', 'openai'],
  ['anthropic', 'anthropic'],
  ['claude', 'anthropic'],
  ['google', 'gcp.gemini'],
  ['gemini', 'gcp.gemini'],
  ['googleai', 'gcp.gemini'],
  ['gcp.gemini', 'gcp.gemini'],
  ['google_genai', 'gcp.gemini'],
  ['google_ai_gemini', 'gcp.gemini'],
  ['google.generative_ai', 'gcp.gemini'],
  ['google_generative_ai', 'gcp.gemini'],
  ['vertex', 'gcp.vertex_ai'],
  ['vertexai', 'gcp.vertex_ai'],
  ['vertex_ai', 'gcp.vertex_ai'],
  ['google_vertex', 'gcp.vertex_ai'],
  ['google.vertex', 'gcp.vertex_ai'],
  ['google_vertex_ai_gemini', 'gcp.vertex_ai'],
  ['google_vertex_ai_anthropic', 'gcp.vertex_ai'],
  ['gcp.vertex_ai', 'gcp.vertex_ai'],
  ['gcp.gen_ai', 'gcp.gen_ai'],
  ['azure', 'azure.ai.openai'],
  ['azure_openai', 'azure.ai.openai'],
  ['azure_open_ai', 'azure.ai.openai'],
  ['az.ai.openai', 'azure.ai.openai'],
  ['azure.ai.openai', 'azure.ai.openai'],
  ['az.ai.inference', 'azure.ai.inference'],
  ['azure.ai.inference', 'azure.ai.inference'],
  ['aws', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['aws_bedrock', 'aws.bedrock'],
  ['awsbedrock', 'aws.bedrock'],
  ['aws.bedrock', 'aws.bedrock'],
  ['amazon_bedrock', 'aws.bedrock'],
  ['mistral', 'mistral_ai'],
  ['mistralai', 'mistral_ai'],
  ['mistral_ai', 'mistral_ai'],
  ['xai', 'x_ai'],
  ['x_ai', 'x_ai'],
  ['watsonx', 'ibm.watsonx.ai'],
  ['ibm.watsonx.ai', 'ibm.watsonx.ai'],
  ['moonshot', 'moonshot_ai'],
  ['moonshotai', 'moonshot_ai'],
  ['moonshot_ai', 'moonshot_ai'],
  ['cohere', 'cohere'],
  ['groq', 'groq'],
  ['deepseek', 'deepseek'],
  ['perplexity', 'perplexity'],
]);

/** The provider's name in the semantic conventions; unknown names are kept. */
export function normalizeProvider(provider: string): string {
  const name = provider.trim().toLowerCase().replaceAll('-', '_').replaceAll(' ', '_');
  for (let end = name.length; end > 0; end = name.lastIndexOf('.', end - 1)) {
    const known = PROVIDERS.get(name.slice(0, end));
    if (known !== undefined) return known;
  }
  return provider;
}
