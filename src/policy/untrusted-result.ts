/**
 * Results that no output type vouches for: those of untyped tools, and errors. The call has been made, so withholding
 * them would invite a second one; they are cut to size and marked instead.
 */
import { checkJsonValue, isObject, type JsonObject, readList } from '../json/index.ts';

/** Key in `_meta` of a result whose content is data of the server's own making, never an instruction. */
const UNTRUSTED = 'mcp-observatory.dev/untrusted';

/** Whether the gate marked a result as untrusted, by its `_meta`. */
export function isUntrusted(meta: JsonObject | undefined): boolean {
  return meta?.[UNTRUSTED] === true;
}

/** Bytes a part takes beside its text, about. */
const PART_BYTES = 32;

/** The result with at most `maxBytes` of content and structure, and without anything else the server added to it. */
export function untrustedResult(raw: JsonObject, maxBytes: number): JsonObject {
  const parts = readList(raw.content);
  const content: JsonObject[] = [];
  let left = maxBytes;
  for (const [index, part] of parts.entries()) {
    if (left < PART_BYTES) {
      content.push(note(`${parts.length - index} more parts are left out`));
      break;
    }
    const fitted = fit(part, left - PART_BYTES);
    content.push(fitted);
    left -= PART_BYTES + measureSize(fitted);
  }
  const { structuredContent: structure } = raw;
  const hasStructure = structure !== undefined && fits(structure, left);
  return {
    content,
    ...(hasStructure ? { structuredContent: structure } : {}),
    ...(typeof raw.isError === 'boolean' ? { isError: raw.isError } : {}),
    _meta: { [UNTRUSTED]: true },
  };
}

function fit(part: unknown, maxBytes: number): JsonObject {
  if (!isObject(part) || typeof part.type !== 'string') return note('a part without a type is left out');
  if (part.type === 'text' && typeof part.text === 'string')
    return { type: 'text', text: cut(part.text, maxBytes) };
  return fits(part, maxBytes) ? part : note(`a part of type ${part.type.slice(0, 32)} is left out`);
}

/** At most `maxBytes` of a text in UTF-8. Lone surrogates, which UTF-8 cannot carry, become U+FFFD. */
function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes), 'utf8');
  if (bytes.byteLength <= maxBytes && text.length <= maxBytes) return bytes.toString('utf8');
  const kept = bytes.subarray(0, maxBytes).toString('utf8');
  return `${kept}\n[${text.length - kept.length} more characters are left out]`;
}

function fits(value: unknown, maxBytes: number): boolean {
  try {
    checkJsonValue(value, { maxBytes, maxDepth: 64, maxValues: Math.max(1_000, maxBytes) });
    return true;
  } catch {
    return false;
  }
}

function measureSize(part: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(part), 'utf8');
}

function note(text: string): JsonObject {
  return { type: 'text', text: `[${text}]` };
}
