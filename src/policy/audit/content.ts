/**
 * What decisions were made about: request, plan, arguments, result, policy and definitions. It is kept only with content
 * capture on, so that `replayTrace` can decide again: encrypted where there is a key, else without its secrets.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { isObject, type JsonObject, redactLargeValue, redactValue, sha256Hex } from '../../json/index.ts';

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

export class ContentKeeper {
  readonly #runId: string;
  readonly #key: Buffer | undefined;
  readonly #grounds = new Map<string, KeptGround>();

  constructor(runId: string, key: string | undefined) {
    this.#runId = runId;
    this.#key = key === undefined ? undefined : contentKey(key);
  }

  /** Content that is too long to lose its secrets at once is not kept. */
  keep({ data, grounds = {} }: RecordContent): KeptContent {
    try {
      const fresh = this.#readNew(grounds);
      if (this.#key !== undefined) return this.#finish(data, data, grounds, fresh);
      const isLong = (text: string) => text.length > MAX_CHARS_AT_ONCE;
      if (isLong(JSON.stringify(data)) || isLong(readText(fresh).join(''))) return { content_omitted: true };
      return this.#finish(data, redactValue(data), grounds, redactValue(fresh));
    } catch {
      return { content_omitted: true };
    }
  }

  /** As {@link keep}, for data of any size: the event loop is not held while secrets are looked for. */
  async keepLarge({ data, grounds = {} }: RecordContent): Promise<KeptContent> {
    try {
      const fresh = this.#readNew(grounds);
      if (this.#key !== undefined) return this.#finish(data, data, grounds, fresh);
      return this.#finish(data, await redactLargeValue(data), grounds, await redactLargeValue(fresh));
    } catch {
      return { content_omitted: true };
    }
  }

  #finish(
    data: JsonObject,
    cleanData: JsonObject,
    grounds: JsonObject,
    cleanGrounds: JsonObject,
  ): KeptContent {
    const text = JSON.stringify(cleanData);
    const json = `{"data":${text},"grounds":{${readText(cleanGrounds).join(',')}}}`;
    // A text that is too long as it is need not be encrypted or escaped to find out.
    if (json.length > MAX_BYTES) return { content_omitted: true };
    const sealed = this.#key && seal(json, this.#key, this.#runId);
    if (Buffer.byteLength(sealed ?? JSON.stringify(json)) > MAX_BYTES) return { content_omitted: true };
    for (const [name, clean] of Object.entries(cleanGrounds)) {
      const whole = JSON.stringify(grounds[name]);
      this.#grounds.set(name, { hash: sha256Hex(whole), isRedacted: JSON.stringify(clean) !== whole });
    }
    if (sealed !== undefined) return { content_sealed: sealed };
    const isRedacted =
      text !== JSON.stringify(data) ||
      Object.keys(grounds).some((name) => this.#grounds.get(name)?.isRedacted === true);
    return isRedacted ? { content: json, content_redacted: true } : { content: json };
  }

  /** The grounds that differ from those kept under their name. */
  #readNew(grounds: JsonObject): JsonObject {
    const fresh = Object.entries(grounds).filter(([name, value]) => {
      const text = JSON.stringify(value);
      if (text === undefined || text.length > MAX_BYTES) return false;
      return this.#grounds.get(name)?.hash !== sha256Hex(text);
    });
    return Object.fromEntries(fresh);
  }
}

/** What the content of a run has under a name. */
interface KeptGround {
  /** SHA-256 of its text, before secrets were taken out. */
  readonly hash: string;
  readonly isRedacted: boolean;
}

function readText(grounds: JsonObject): readonly string[] {
  return Object.entries(grounds).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
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
