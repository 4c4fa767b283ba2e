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
  ['gcp.gen_ai', 'gcp.gen_ai'],
  ['azure', 'azure.ai.openai'],
  ['azure_openai', 'azure.ai.openai'],
  ['azure_open_ai', 'azure.ai.openai'],
  ['az.ai.openai', 'azure.ai.openai'],
  ['azure.ai.openai', 'azure.ai.openai'],
  ['azure_ai', 'azure.ai.inference'],
  ['az.ai.inference', 'azure.ai.inference'],
  ['azure.ai.inference', 'azure.ai.inference'],
  ['aws', 'aws.bedrock'],
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

/** Clouds that serve models of several makers, by a word of their names: `google_vertexai`, `bedrock_converse`, `AwsBedrock`. */
const CLOUDS: readonly (readonly [word: string, provider: string])[] = [
  ['bedrock', 'aws.bedrock'],
  ['vertex', 'gcp.vertex_ai'],
];

/** The provider's name in the semantic conventions; unknown names are kept. */
export function normalizeProvider(provider: string): string {
  const name = provider.trim().toLowerCase().replaceAll('-', '_').replaceAll(' ', '_');
  const cloud = CLOUDS.find(([word]) => name.includes(word));
  if (cloud !== undefined) return cloud[1];
  for (let end = name.length; end > 0; end = name.lastIndexOf('.', end - 1)) {
    const known = PROVIDERS.get(name.slice(0, end));
    if (known !== undefined) return known;
  }
  return provider;
}
