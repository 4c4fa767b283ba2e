import { redactValue } from '../../json/index.ts';
import type { ProviderExchange } from './format.ts';
import { scrubStream } from './scrub-stream.ts';

/** Headers whose values are secret or name the account. They are never kept; their values are looked for elsewhere too. */
const SECRET_HEADERS = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'openai-organization',
  'openai-project',
  'anthropic-organization-id',
  'x-goog-user-project',
];

/** Ids of accounts as providers write them into error messages. */
const ACCOUNT_IDS: readonly (readonly [RegExp, string])[] = [
  [/\borg-[A-Za-z0-9]{16,64}/g, '[redacted: organisation]'],
  [/\bproj_[A-Za-z0-9]{16,64}/g, '[redacted: project]'],
  [/\bproject_number:\d{6,20}/g, 'project_number:[redacted: project]'],
  [/\bprojects\/\d{6,20}/g, 'projects/[redacted: project]'],
];

/** Shorter values would take ordinary words out of texts. */
const SHORTEST_SECRET = 6;

/**
 * Takes secrets out of what a golden keeps of texts: values that are known to be secret because they stood where
 * secrets stand, and everything that has the form of one. The headers and fields themselves are dropped by allow-list.
 */
export class Scrubber {
  readonly #secrets = new Set<string>();

  /** A value that must not be kept anywhere. */
  add(secret: string | undefined): void {
    const value = secret?.trim() ?? '';
    if (value.length >= SHORTEST_SECRET) this.#secrets.add(value);
  }

  /** The secrets among HTTP headers. */
  addHeaders(headers: Headers): void {
    for (const name of SECRET_HEADERS) {
      const value = headers.get(name);
      if (value === null) continue;
      this.add(value.replace(/^(?:Bearer|Basic) /i, ''));
      // Of a cookie the value alone occurs elsewhere.
      if (name.endsWith('cookie'))
        for (const pair of value.split(/[;,] ?/)) this.add(pair.slice(pair.indexOf('=') + 1));
    }
  }

  /** A copy of a JSON value without secrets. */
  clean<T>(value: T): T {
    return walk(redactValue(value), (text) => this.#cleanText(text)) as T;
  }

  /** A copy of an exchange without secrets, those that its stream cut in pieces included. */
  cleanExchange(exchange: ProviderExchange): ProviderExchange {
    const { response } = exchange;
    if (response.events === undefined) return this.clean(exchange);
    const events = scrubStream(response.events, (text) => this.clean(text));
    return this.clean({ ...exchange, response: { ...response, events } });
  }

  #cleanText(text: string): string {
    let out = text;
    for (const secret of this.#secrets) out = out.replaceAll(secret, '[redacted: secret]');
    for (const [pattern, word] of ACCOUNT_IDS) out = out.replace(pattern, word);
    return out;
  }
}

function walk(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => walk(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [change(key), walk(member, change)]),
  );
}
