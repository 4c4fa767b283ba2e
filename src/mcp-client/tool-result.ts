import { isObject, type JsonObject } from '../json/index.ts';
import type { ToolContent, ToolResult } from './types.ts';

/**
 * Reads the raw result of `tools/call`. A block of an unknown type, or one that lacks what its type needs, is kept as
 * `unknown`, so that one odd block does not cost the answer.
 *
 * @returns The result, or what is wrong with its form.
 */
export function readToolResult(raw: unknown): ToolResult | string {
  if (!isObject(raw)) return `expected a result object, got ${raw === null ? 'null' : typeof raw}`;
  const { content, structuredContent } = raw;
  if (content === undefined && structuredContent === undefined) {
    return 'the result has neither "content" nor "structuredContent"';
  }
  if (content !== undefined && !Array.isArray(content)) return '"content" of the result is not a list';
  return {
    content: ((content ?? []) as unknown[]).map(readBlock),
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isObject(raw._meta) && { meta: raw._meta }),
  };
}

/** The text of a result, block by block, for messages about it. */
export function textOf(result: ToolResult): string {
  return result.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function readBlock(block: unknown): ToolContent {
  const known = isObject(block) ? readKnownBlock(block) : undefined;
  return known ?? { type: 'unknown', block };
}

function readKnownBlock(block: JsonObject): ToolContent | undefined {
  const { type } = block;
  switch (type) {
    case 'text': {
      const text = string(block, 'text');
      return text === undefined ? undefined : { type, text };
    }
    case 'image':
    case 'audio': {
      const [data, mimeType] = [string(block, 'data'), string(block, 'mimeType')];
      return data === undefined || mimeType === undefined ? undefined : { type, data, mimeType };
    }
    case 'resource_link': {
      const uri = string(block, 'uri');
      if (uri === undefined) return undefined;
      return {
        type,
        uri,
        name: string(block, 'name') ?? uri,
        title: string(block, 'title'),
        description: string(block, 'description'),
        mimeType: string(block, 'mimeType'),
      };
    }
    case 'resource': {
      const { resource } = block;
      if (!isObject(resource)) return undefined;
      const [uri, text, blob] = [string(resource, 'uri'), string(resource, 'text'), string(resource, 'blob')];
      if (uri === undefined || (text === undefined && blob === undefined)) return undefined;
      return { type, uri, mimeType: string(resource, 'mimeType'), text, blob };
    }
    default:
      return undefined;
  }
}

function string(object: JsonObject, key: string): string | undefined {
  const value = object[key];
  return typeof value === 'string' ? value : undefined;
}
