import { nameKind, redactLargeValue, redactValue } from '../../json/index.ts';
import type { ProviderExchange, StreamEvent } from './format.ts';
import { findMarked, isSecretLike } from './pattern.ts';

/**
 * The HTTP headers and query parameters that goldens keep. All others are dropped: keys, cookies, ids of organizations
 * and projects, quotas, addresses, and whatever providers add later.
 */

const REQUEST_HEADERS: ReadonlySet<string> = new Set(['anthropic-version', 'anthropic-beta', 'openai-beta']);

/** The content type, and the headers that the retry policy reads. */
const RESPONSE_HEADERS: ReadonlySet<string> = new Set([
  'content-type',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
]);

const QUERY: ReadonlySet<string> = new Set(['alt', 'api-version']);

export function keptRequestHeaders(headers: Headers): Record<string, string> {
  return kept(headers, REQUEST_HEADERS);
}

export function keptResponseHeaders(headers: Headers): Record<string, string> {
  return kept(headers, RESPONSE_HEADERS);
}

export function keptPath(url: URL): string {
  const query = [...url.searchParams].filter(([name]) => QUERY.has(name));
  return query.length === 0 ? url.pathname : `${url.pathname}?${new URLSearchParams(query).toString()}`;
}

function kept(headers: Headers, names: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => names.has(name)));
}

/** Headers with secrets or account ids. They are never kept, and their values are also removed elsewhere. */
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

/** Account ids in error messages of providers. */
const ACCOUNT_IDS: readonly (readonly [RegExp, string])[] = [
  [/\borg-[A-Za-z0-9]{16,64}/g, '[redacted: organisation]'],
  [/\bproj_[A-Za-z0-9]{16,64}/g, '[redacted: project]'],
  [/\bproject_number:\d{6,20}/g, 'project_number:[redacted: project]'],
  [/\bprojects\/\d{6,20}/g, 'projects/[redacted: project]'],
];

/** Shorter values would take ordinary words out of texts. */
const SHORTEST_SECRET = 6;

const REDACTED = '[redacted: secret]';

/** Names of variables that hold secrets by convention, beside the names that are secret anywhere. */
const SECRET_VARIABLE =
  /(?:^|_)(?:(?<!PUBLIC_)KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|PAT|CREDENTIALS?|AUTH|JWT|COOKIE|SALT)(?:_?\d{1,2})?$/i;

/** A value that texts have for themselves: `postgres`, `12345678`. */
const ORDINARY = /^(?:[a-z]{1,8}|\d{1,8})$/i;

/**
 * Texts to be found in others, in one pass however many there are: two characters of a text tell how far ahead the next
 * one to be found can begin.
 */
class KnownTexts {
  /** By the hash of the last two of their first characters. */
  readonly #byHash = new Map<number, string[]>();
  readonly #shifts = new Uint8Array(4096).fill(SHORTEST_SECRET - 1);
  size = 0;

  add(text: string): void {
    const hash = hashBefore(text, SHORTEST_SECRET);
    const known = this.#byHash.get(hash) ?? [];
    if (known.includes(text)) return;
    this.size += 1;
    // The longest is found first.
    this.#byHash.set(
      hash,
      [...known, text].sort((left, right) => right.length - left.length),
    );
    for (let end = 2; end <= SHORTEST_SECRET; end += 1) {
      const at = hashBefore(text, end);
      this.#shifts[at] = Math.min(this.#shifts[at] as number, SHORTEST_SECRET - end);
    }
  }

  /** The text with a word in place of each that is known. */
  replaceIn(text: string, word: string): string {
    let out = '';
    let from = 0;
    for (let end = SHORTEST_SECRET; end <= text.length; ) {
      const hash = hashBefore(text, end);
      const shift = this.#shifts[hash] as number;
      const start = end - SHORTEST_SECRET;
      const found =
        shift > 0 ? undefined : this.#byHash.get(hash)?.find((one) => text.startsWith(one, start));
      if (found === undefined) {
        end += shift || 1;
        continue;
      }
      out += text.slice(from, start) + word;
      from = start + found.length;
      end = from + SHORTEST_SECRET;
    }
    return from === 0 ? text : out + text.slice(from);
  }
}

function hashBefore(text: string, end: number): number {
  return ((text.charCodeAt(end - 2) * 31) ^ text.charCodeAt(end - 1)) & 4095;
}

/**
 * Removes secrets from the texts of a golden: values known from places that hold secrets (keys, headers, `env`), and
 * everything in the form of a secret. The headers and fields themselves are dropped by allow-list.
 */
export class Scrubber {
  readonly #secrets = new KnownTexts();
  /** Variables that were registered, or are no secret. */
  readonly #variables = new Map<string, string>();

  /** How many secrets are registered. */
  get size(): number {
    return this.#secrets.size;
  }

  /** Registers a value to remove everywhere, also from JSON within a text. */
  add(secret: string | undefined): void {
    const value = secret?.trim() ?? '';
    for (const form of [value, JSON.stringify(value).slice(1, -1)])
      if (form.length >= SHORTEST_SECRET && !REDACTED.includes(form)) this.#secrets.add(form);
  }

  /** Registers the secrets among HTTP headers. */
  addHeaders(headers: Headers): void {
    for (const name of SECRET_HEADERS) {
      const value = headers.get(name);
      if (value === null) continue;
      this.add(value.replace(/^(?:Bearer|Basic) /i, ''));
      // Elsewhere the value of a cookie occurs without its name.
      if (name.endsWith('cookie'))
        for (const pair of value.split(/[;,] ?/)) this.add(pair.slice(pair.indexOf('=') + 1));
    }
  }

  addRequest(headers: Headers, url: URL): void {
    this.addHeaders(headers);
    this.addNamed({ ...Object.fromEntries(headers), ...Object.fromEntries(url.searchParams) });
  }

  /** Registers those of named values whose names or forms say that they are secret; of an address its password. */
  addNamed(values: Readonly<Record<string, string | undefined>>): void {
    const cleaned = redactValue(values) as typeof values;
    for (const [name, value = ''] of Object.entries(values)) {
      if (cleaned[name] === value) continue;
      for (const part of findMarked(cleaned[name] ?? '', value)) {
        this.add(part);
        const [, password] = /^[^:]*:(.+)$/s.exec(part) ?? [];
        if (part === value || password === undefined || ORDINARY.test(password)) continue;
        this.add(password);
        if (/%[\dA-F]{2}/i.test(password)) this.add(new URLSearchParams(`p=${password}`).get('p') ?? '');
      }
    }
  }

  /** Registers what a call is given as a password or the like: what the model reads may hold it too. */
  addArguments(args: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(args)) {
      if (typeof value !== 'string' || nameKind(name) !== 'strong') continue;
      if (ORDINARY.test(value)) continue;
      this.addNamed({ [name]: value });
      // A sentence is no secret in a text; as the password of a call it is.
      if (/\s/.test(value) && isSecretLike(value)) this.add(value);
    }
  }

  /** Registers the secrets of an environment that were not there before: programs add to theirs. */
  addEnvironment(env: Readonly<Record<string, string | undefined>>): void {
    const added: Record<string, string> = {};
    for (const [name, value = ''] of Object.entries(env)) {
      if (this.#variables.get(name) === value) continue;
      this.#variables.set(name, value);
      if (ORDINARY.test(value)) continue;
      added[name] = value;
      if (SECRET_VARIABLE.test(name)) added[`${name}_TOKEN`] = value;
    }
    this.addNamed(added);
  }

  /** Registers the values of a command's options, as `addNamed`: `--token VALUE` is two arguments. */
  addOptions(args: readonly string[]): void {
    for (const [index, arg] of args.entries()) {
      const [, name, value = args[index + 1]] = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
      if (name !== undefined && value?.startsWith('-') === false) this.addNamed({ [name]: value });
    }
  }

  /** A copy of a JSON value without secrets. */
  clean<T>(value: T): T {
    return this.cleanKnown(redactValue(value) as T);
  }

  /** A copy of a value without the secrets that were registered; those in the form of one stay. */
  cleanKnown<T>(value: T): T {
    return walk(value, (text) => this.#cleanText(text)) as T;
  }

  /** As {@link clean}, for values of any size: lets the event loop turn. */
  async cleanLarge<T>(value: T): Promise<T> {
    return walk(await redactLargeValue(value), (text) => this.#cleanText(text)) as T;
  }

  /** A copy of an exchange without secrets, including those split across stream events. */
  async cleanExchange<T extends Omit<ProviderExchange, 'iteration'>>(exchange: T): Promise<T> {
    const { response } = exchange;
    if (response.events === undefined) return this.cleanLarge(exchange);
    const [events, texts] = splitTexts(response.events);
    for (const text of texts) putBack(text, await this.cleanLarge(text.whole));
    return this.cleanLarge({ ...exchange, response: { ...response, events } });
  }

  /** As {@link cleanExchange}, at once: for the end of a process. */
  cleanExchangeNow<T extends Omit<ProviderExchange, 'iteration'>>(exchange: T): T {
    const { response } = exchange;
    if (response.events === undefined) return this.clean(exchange);
    const [events, texts] = splitTexts(response.events);
    for (const text of texts) putBack(text, this.clean(text.whole));
    return this.clean({ ...exchange, response: { ...response, events } });
  }

  #cleanText(text: string): string {
    let out = this.#secrets.replaceIn(text, REDACTED);
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

interface Leaf {
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string | number;
  readonly text: string;
}

/** The strings at one place of successive events, which may hold a secret together. */
interface SplitText {
  readonly leaves: readonly Leaf[];
  readonly whole: string;
}

/** A copy of the events, and the texts that go on from event to event, to be cleaned and put back into the copy. */
function splitTexts(events: readonly StreamEvent[]): readonly [StreamEvent[], SplitText[]] {
  const copies = structuredClone(events) as StreamEvent[];
  const byPlace = new Map<string, Leaf[]>();
  for (const event of copies) if ('data' in event) collect(event as { data: unknown }, 'data', '', byPlace);
  const texts = [...byPlace.values()].map((leaves) => ({
    leaves,
    whole: leaves.map((leaf) => leaf.text).join(''),
  }));
  return [copies, texts];
}

function collect(
  holder: Leaf['holder'],
  key: string | number,
  place: string,
  byPlace: Map<string, Leaf[]>,
): void {
  const value = (holder as Record<string | number, unknown>)[key];
  if (typeof value === 'string') {
    const leaves = byPlace.get(place) ?? [];
    byPlace.set(place, leaves);
    leaves.push({ holder, key, text: value });
  } else if (Array.isArray(value)) {
    for (const index of value.keys()) collect(value, index, `${place}[${index}]`, byPlace);
  } else if (typeof value === 'object' && value !== null) {
    for (const name of Object.keys(value)) {
      collect(value as Record<string, unknown>, name, `${place}.${name}`, byPlace);
    }
  }
}

/** Puts a cleaned text into the events that held it; the replacement goes where the secret began. */
function putBack({ leaves, whole }: SplitText, cleaned: string): void {
  if (cleaned === whole) return;
  // The common prefix and suffix stay in their pieces; the part between goes where it begins.
  let start = 0;
  while (start < cleaned.length && whole[start] === cleaned[start]) start += 1;
  let tail = 0;
  const most = Math.min(whole.length, cleaned.length) - start;
  while (tail < most && whole.at(-1 - tail) === cleaned.at(-1 - tail)) tail += 1;
  const end = whole.length - tail;
  const replacement = cleaned.slice(start, cleaned.length - tail);
  let from = 0;
  let isPlaced = false;
  for (const { holder, key, text } of leaves) {
    const to = from + text.length;
    const before = text.slice(0, Math.max(0, Math.min(text.length, start - from)));
    const after = text.slice(Math.max(0, Math.min(text.length, end - from)));
    const isHere = !isPlaced && to >= start && (to > start || to >= whole.length);
    if (isHere || (to > start && from < end)) {
      (holder as Record<string | number, unknown>)[key] =
        before + (isHere ? replacement : '') + (from < end ? after : text);
    }
    if (isHere) isPlaced = true;
    from = to;
  }
}

/** Knows no secrets: removes those that have the form of one. */
export const FORMS = new Scrubber();
