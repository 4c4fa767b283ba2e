import type { JsonObject } from '../json/index.ts';

/**
 * Reads the id of a session or user under a name that no table has, by how it ends: `gen_ai.session.id`,
 * `langfuse.trace.metadata.langfuse_user_id`; or in the text of metadata, as JSON or as Python prints it.
 */
export function readIdByWords(attributes: JsonObject, of: 'session' | 'user'): string | undefined {
  for (const name in attributes) {
    // Nearly every name is ruled out by its last letter: of an id, `metadata`, `trace.user` or `trace.session`.
    const last = name.charCodeAt(name.length - 1) | 0x20;
    if (last !== 0x64 && last !== 0x61 && last !== 0x72 && last !== 0x6e) continue;
    const isMetadata = name.endsWith('metadata');
    const value = attributes[name];
    const id = isMetadata ? idInText(value, of) : ID_NAMES[of].test(name) ? readId(value) : undefined;
    if (id !== undefined) return id;
  }
  return undefined;
}

/** Not of a machine, of what was before or is around, or of the key that was used. */
const ID_NAMES = {
  session: /^(?!process|.{0,100}(?:prev|parent))(?:.{0,100}[._])?(?:session[._]?id|trace\.session)$/i,
  user: /^(?!(?:process|host|os|db|cloud|aws)\.|.{0,100}(?:prev|parent|(?:key|api)_user))(?:.{0,100}[._])?(?:(?:end)?user(?:[._]pseudo)?[._]?id|trace\.user)$/i,
};
const IDS_IN_TEXT = {
  session: /["']session_?id["']: ?["']([^"']{1,256})["']/i,
  user: /["'](?:end_?)?user_?id["']: ?["']([^"']{1,256})["']/i,
};
const MAX_METADATA_CHARS = 8_192;

function idInText(value: unknown, of: 'session' | 'user'): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_METADATA_CHARS) return undefined;
  return readId(IDS_IN_TEXT[of].exec(value)?.[1]);
}

function readId(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  return typeof value === 'string' && value.length <= 256 && !/^(?:none|null)?$/i.test(value)
    ? value
    : undefined;
}
