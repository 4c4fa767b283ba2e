export interface ServerAddress {
  readonly address: string;
  readonly port: number | undefined;
}

/** Host and port of a base URL, with the scheme's default port; undefined if it is not a URL. */
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
  // Other Amazon services may proxy any provider.
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

/** The provider at a host, if known: the SDKs are also the clients of Azure, Groq, Bedrock and others. */
export function providerOfHost(host: string | undefined): string | undefined {
  return host === undefined ? undefined : findProvider(host);
}

const MAX_KEPT = 64;

/**
 * Memoizes a function of a string, with a bound: an application has a handful of base URLs and hosts, but one that
 * makes them up must not grow this forever.
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
