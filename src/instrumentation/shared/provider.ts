import { remembered } from './remembered.ts';

/** Hosts that answer the API of OpenAI or Anthropic under another name, in semconv's words. */
const PROVIDER_OF_HOST: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\.)(?:openai\.azure|cognitiveservices\.azure)\.(?:com|us|cn)$/, 'azure.ai.openai'],
  [/(?:^|\.)(?:models|services)\.ai\.azure\.com$/, 'azure.ai.inference'],
  // Other services of Amazon's may stand before a model of anyone's.
  [/(?:^|\.)bedrock[\w.-]*\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$/, 'aws.bedrock'],
  [/(?:^|\.)groq\.com$/, 'groq'],
  [/(?:^|\.)deepseek\.com$/, 'deepseek'],
  [/(?:^|\.)mistral\.ai$/, 'mistral_ai'],
  [/(?:^|\.)perplexity\.ai$/, 'perplexity'],
  [/(?:^|\.)x\.ai$/, 'x_ai'],
  [/(?:^|\.)cohere\.(?:com|ai)$/, 'cohere'],
  [/(?:^|\.)moonshot\.(?:ai|cn)$/, 'moonshot_ai'],
  [/(?:^|\.)ml\.cloud\.ibm\.com$/, 'ibm.watsonx.ai'],
  [/^generativelanguage\.googleapis\.com$/, 'gcp.gemini'],
  // `us-east5-aiplatform`, `aiplatform.us.rep`
  [/(?:^|-)aiplatform(?:\.[a-z]+\.rep)?\.googleapis\.com$/, 'gcp.vertex_ai'],
];

const findProvider = remembered((host) => PROVIDER_OF_HOST.find(([pattern]) => pattern.test(host))?.[1]);

/** Who answers at this host, where that is known: the SDKs are also the clients of Azure, Groq, Bedrock and others. */
export function providerOfHost(host: string | undefined): string | undefined {
  return host === undefined ? undefined : findProvider(host);
}
