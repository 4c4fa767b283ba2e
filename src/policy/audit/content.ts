/**
 * What decisions were made about: request, plan, arguments, result, policy and definitions. It is kept only with content
 * capture on, so that `replayTrace` can decide again: encrypted where there is a key, else without its secrets.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { isObject, type JsonObject, redactLargeValue, redactValue, sha256Hex } from '../../json/index.ts';

/** Content of one record. */
export interface RecordContent {
  /** What users, planners and servers said. */
  readonly data: JsonObject;
  /** What it was judged by, by name; kept where it differs from what the run kept under that name before. */
  readonly grounds?: JsonObject | undefined;
}

/** The members of a record that hold its content. */
export interface KeptContent {
  /** JSON text. */
  readonly content?: string;
  /** The same, encrypted: base64 of nonce, ciphertext and tag (AES-256-GCM). */
  readonly content_sealed?: string;
  /** Set when secrets were taken out, after which not every decision can be repeated. */
  readonly content_redacted?: true;
  /** Set when there is none, because it was too large or no JSON. */
  readonly content_omitted?: true;
}

/** Most bytes of the content in a line of the trail, whose lines are read up to 4 MiB. */
const MAX_BYTES = 3.5 * 1024 * 1024;
/**
 * Most characters of content whose secrets are taken out at once, which may take about 45 ms. Arguments of a call that may
 * be made are shorter.
 */
const MAX_CHARS_AT_ONCE = 80_000;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = 'aes-256-gcm';

/** Keeps the content of one run's records. */
export class ContentKeeper {
  readonly #runId: string;
  readonly #key: Buffer | undefined;
  /** Hashes of the grounds that are kept, by name. */
  readonly #grounds = new Map<string, string>();

  constructor(runId: string, key: string | undefined) {
    this.#runId = runId;
    this.#key = key === undefined ? undefined : contentKey(key);
  }

  /** Content that is too long to lose its secrets at once is not kept. */
  keep({ data, grounds }: RecordContent): KeptContent {
    try {
      if (this.#key === undefined && JSON.stringify(data).length > MAX_CHARS_AT_ONCE) {
        return { content_omitted: true };
      }
      return this.#finish(data, this.#key === undefined ? redactValue(data) : data, grounds);
    } catch {
      return { content_omitted: true };
    }
  }

  /** As {@link keep}, for data of any size: the event loop is not held while secrets are looked for. */
  async keepLarge({ data, grounds }: RecordContent): Promise<KeptContent> {
    try {
      return this.#finish(data, this.#key === undefined ? await redactLargeValue(data) : data, grounds);
    } catch {
      return { content_omitted: true };
    }
  }

  #finish(data: JsonObject, clean: JsonObject, grounds: JsonObject | undefined): KeptContent {
    try {
      const whole = JSON.stringify(data);
      const text = this.#key === undefined ? JSON.stringify(clean) : whole;
      const json = `{"data":${text},"grounds":{${this.#newOf(grounds).join(',')}}}`;
      // A text that is too long as it is need not be encrypted or escaped to find out.
      if (json.length > MAX_BYTES) return { content_omitted: true };
      const sealed = this.#key && seal(json, this.#key, this.#runId);
      if (Buffer.byteLength(sealed ?? JSON.stringify(json)) > MAX_BYTES) return { content_omitted: true };
      if (sealed !== undefined) return { content_sealed: sealed };
      return text === whole ? { content: json } : { content: json, content_redacted: true };
    } catch {
      return { content_omitted: true };
    }
  }

  #newOf(grounds: JsonObject = {}): readonly string[] {
    return Object.entries(grounds).flatMap(([name, value]) => {
      const text = JSON.stringify(value);
      if (text === undefined || text.length > MAX_BYTES) return [];
      const hash = sha256Hex(text);
      if (this.#grounds.get(name) === hash) return [];
      this.#grounds.set(name, hash);
      return [`${JSON.stringify(name)}:${text}`];
    });
  }
}

/**
 * Reads the content of a record back.
 * @returns undefined where the record has none; `locked` where the key does not open it.
 */
export function readKept(
  record: JsonObject,
  key: string | undefined,
): (RecordContent & { readonly isRedacted: boolean }) | undefined | 'locked' {
  const { content, content_sealed: sealed, content_redacted: redacted, run_id: runId } = record;
  let text: unknown = content;
  if (typeof sealed === 'string') {
    text = key === undefined ? undefined : open(sealed, contentKey(key), String(runId));
    if (text === undefined) return 'locked';
  }
  if (typeof text !== 'string') return undefined;
  const value: unknown = JSON.parse(text);
  if (!isObject(value) || !isObject(value.data)) return undefined;
  const grounds = isObject(value.grounds) ? value.grounds : {};
  return { data: value.data, grounds, isRedacted: redacted === true };
}

/** The key of the HMACs does not encrypt: one is derived from it. */
function contentKey(key: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'mcp-observatory audit content', 32));
}

/** Bound to its run, so that it cannot be shown as another's. */
function seal(text: string, key: Buffer, runId: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(runId));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
    'base64',
  );
}

function open(sealed: string, key: Buffer, runId: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(runId)).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const body = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([body, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
