import { isObject, type JsonObject, readList } from '../../json/index.ts';
import type { CommandWord } from './actions.ts';

/** The value of a word of the syntax tree, if the shell computes nothing of it. */
export function commandWord(node: JsonObject): CommandWord {
  const text = typeof node.text === 'string' ? node.text : '';
  const parts = Array.isArray(node.parts) ? node.parts : undefined;
  return { text, value: isExpanded(text, parts) ? undefined : literalValue(node, text, parts) };
}

/** A tilde at the beginning, or after a colon or an equals sign, is a folder; `=name` is a path in zsh. */
function isExpanded(text: string, parts: readonly unknown[] | undefined): boolean {
  if (/^[~=]|[:=]~/.test(text)) return true;
  // Braces with nothing in them are text.
  if (text === '{}') return false;
  return parts === undefined && /[$`*?[\]{}()<>|&;!]/.test(text.replaceAll(/\\[^\n]/g, ''));
}

function literalValue(
  node: JsonObject,
  text: string,
  parts: readonly unknown[] | undefined,
): string | undefined {
  const { value } = node;
  if (typeof value !== 'string') return undefined;
  if (parts === undefined) return /['"]/.test(text.replaceAll(/\\[^\n]/g, '')) ? undefined : value;
  const read = parts.map(partValue);
  // The parser's own reading of the whole must be the same.
  return read.includes(undefined) || read.join('') !== value ? undefined : value;
}

function partValue(part: unknown): string | undefined {
  if (!isObject(part)) return undefined;
  const { type, value } = part;
  if (type === 'Literal' && typeof value === 'string')
    return /[*?[\]{}]/.test(String(part.text).replaceAll(/\\[^\n]/g, '')) ? undefined : value;
  if (type === 'SingleQuoted' || type === 'AnsiCQuoted') return typeof value === 'string' ? value : undefined;
  if (type !== 'DoubleQuoted') return undefined;
  const inner = readList(part.parts).map((child) =>
    isObject(child) && child.type === 'Literal' && typeof child.value === 'string' ? child.value : undefined,
  );
  return inner.includes(undefined) ? undefined : inner.join('');
}
