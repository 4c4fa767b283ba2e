import { apiOfPath, PROVIDERS, providerOf } from '../../wire/index.ts';
import {
  exchangeUsage,
  type GoldenVersions,
  type NetworkFault,
  noResponse,
  type ProviderExchange,
  readAnswer,
  type Scrubber,
  toNetworkFault,
  toWireRequest,
  toWireResponse,
  type WireRequest,
  type WireResponse,
} from '../file/index.ts';

/** The providers' own hosts. A response of any other host may come from a script. */
const PROVIDER_HOSTS: ReadonlySet<string> = new Set(PROVIDERS.map(({ host }) => host));

interface Taken {
  readonly request: WireRequest;
  response: WireResponse | undefined;
  durationMs: number;
}

/**
 * Records the traffic between an SDK and a model provider. Its `fetch` replaces the global one in the SDK and passes
 * everything through unchanged.
 */
export class ModelRecorder {
  readonly #scrubber: Scrubber;
  readonly #taken: Taken[] = [];
  #sdk: GoldenVersions['sdk'] = null;
  #onlyProviders = true;

  constructor(scrubber: Scrubber) {
    this.#scrubber = scrubber;
  }

  /** Whether every request went to a provider's own API. */
  get isFromProvider(): boolean {
    return this.#onlyProviders && this.#taken.length > 0;
  }

  /** The SDK, as its requests named it. */
  get sdk(): GoldenVersions['sdk'] {
    return this.#sdk;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const startedAt = performance.now();
    const taken = await this.#take(request.clone());
    let response: Response;
    try {
      response = await fetch(request);
    } catch (error) {
      taken.response = noResponse(error);
      taken.durationMs = performance.now() - startedAt;
      throw error;
    }
    this.#scrubber.addHeaders(response.headers);
    const body = tapped(response.body, (text, cut) => {
      taken.response = toWireResponse(response, text, cut);
      taken.durationMs = performance.now() - startedAt;
    });
    return new Response(body, response);
  };

  /** The completed exchanges, in request order. */
  exchanges(): ProviderExchange[] {
    let iteration = 0;
    let before: string | undefined;
    return this.#taken.flatMap(({ request, response, durationMs }) => {
      if (response === undefined) return [];
      // An identical request is a retry of the same turn.
      const text = JSON.stringify(request);
      if (text !== before) iteration += 1;
      before = text;
      return [
        {
          iteration,
          request,
          response,
          token_usage: exchangeUsage(readAnswer(request.path, response)?.usage),
          duration_ms: Math.round(durationMs),
        },
      ];
    });
  }

  /** The models that answered, each once. */
  models(): string[] {
    const models = this.#taken.map(({ request, response }) =>
      response === undefined ? undefined : readAnswer(request.path, response)?.model,
    );
    return [...new Set(models.filter((model): model is string => Boolean(model)))];
  }

  async #take(request: Request): Promise<Taken> {
    const url = new URL(request.url);
    this.#scrubber.addHeaders(request.headers);
    this.#scrubber.add(url.searchParams.get('key') ?? undefined);
    this.#onlyProviders &&= PROVIDER_HOSTS.has(url.host) && url.protocol === 'https:';
    this.#sdk ??= sdkOf(url.pathname, request.headers);
    const taken: Taken = {
      request: toWireRequest(request, await request.text()),
      response: undefined,
      durationMs: 0,
    };
    this.#taken.push(taken);
    return taken;
  }
}

/** Passes a body through, and reports its text once it ended, broke off or was canceled by its reader. */
function tapped(
  body: ReadableStream<Uint8Array> | null,
  onEnd: (text: string, cut: NetworkFault | undefined) => void,
): ReadableStream<Uint8Array> | null {
  if (body === null) {
    onEnd('', undefined);
    return null;
  }
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          onEnd(text + decoder.decode(), undefined);
          controller.close();
          return;
        }
        text += decoder.decode(value, { stream: true });
        controller.enqueue(value);
      } catch (error) {
        onEnd(text + decoder.decode(), toNetworkFault(error));
        controller.error(error);
      }
    },
    async cancel(reason) {
      onEnd(text + decoder.decode(), undefined);
      await reader.cancel(reason);
    },
  });
}

function sdkOf(path: string, headers: Headers): GoldenVersions['sdk'] {
  const api = apiOfPath(path);
  const provider = api === undefined ? undefined : providerOf(api);
  const version = provider?.sdkVersion(headers);
  return provider === undefined || version === undefined ? null : { name: provider.sdk, version };
}
