export interface ServerAddress {
  readonly address: string;
  readonly port: number | undefined;
}

/** Host and port of a base URL, with the scheme's default port; nothing for a text that is no URL. */
export function serverAddress(baseUrl: unknown): ServerAddress | undefined {
  return typeof baseUrl === 'string' ? addressOf(baseUrl) : undefined;
}

const addressOf = remembered(parse);

function parse(baseUrl: string): ServerAddress | undefined {
  try {
    const url = new URL(baseUrl);
    const port = url.port === '' ? { 'https:': 443, 'http:': 80 }[url.protocol] : Number(url.port);
    return { address: url.hostname, port };
  } catch {
    return undefined;
  }
}

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

const MAX_KEPT = 64;

/**
 * A function of a text that keeps what it made. An application has a handful of base URLs and hosts; one that makes
 * them up must not grow this for ever.
 */
function remembered<T>(make: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined || kept.has(text)) return known as T;
    const made = make(text);
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(text, made);
    return made;
  };
}
