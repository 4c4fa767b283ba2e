/** What each provider takes in a conversation. What it refuses would end the whole run. */
import { isWellFormed, toWellFormed, toWellFormedValue } from '../../json/index.ts';
import type { ImagePart, ModelMessage, TextPart, ToolCallPart } from './conversation.ts';

/**
 * Media types of images that each provider takes:
 * - OpenAI: "Images and vision", supported file types.
 * - Anthropic: "Vision", `media_type` of a base64 source.
 * - Gemini: "Image understanding", supported MIME types.
 */
const IMAGE_TYPES = {
  openai: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  anthropic: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  gemini: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
} as const satisfies Record<string, readonly string[]>;

/** Anthropic, "Vision": 5 MB of base64 an image, and 8,000 pixels a side. */
const [MAX_CHARS, MAX_SIDE] = [5 * 1024 * 1024, 8_000];

/** The conversation as a provider takes it: other images are a line of text, and every text is well-formed. */
export function fitMessages(
  messages: readonly ModelMessage[],
  provider: keyof typeof IMAGE_TYPES,
): readonly ModelMessage[] {
  const types: readonly string[] = IMAGE_TYPES[provider];
  const fit = <P extends { readonly type: string }>(part: P): P | TextPart => {
    if (isPart(part, 'text'))
      return isWellFormed(part.text) ? part : { ...part, text: toWellFormed(part.text) };
    if (isPart(part, 'image') && !types.includes(part.mimeType))
      return { type: 'text', text: `[${part.mimeType} image, a type the model cannot see]` };
    if (isPart(part, 'image') && provider === 'anthropic' && isTooLarge(part))
      return { type: 'text', text: `[${part.mimeType} image, too large for the model]` };
    if (isPart(part, 'tool_call')) return { ...part, arguments: toWellFormedValue(part.arguments) };
    return part;
  };
  return messages.map((message): ModelMessage => {
    if (message.role === 'system') return { ...message, text: toWellFormed(message.text) };
    if (message.role === 'user') return { ...message, parts: message.parts.map(fit) };
    if (message.role === 'assistant') return { ...message, parts: message.parts.map(fit) };
    const parts = message.parts.map((part) => ({ ...part, content: part.content.map(fit) }));
    return { ...message, parts };
  });
}

/** Pixels are read of a PNG, as screenshots of whole pages are; what has no header is left to the provider. */
function isTooLarge({ mimeType, data }: ImagePart): boolean {
  if (data.length > MAX_CHARS) return true;
  const head = Buffer.from(data.slice(0, 32), 'base64');
  if (mimeType !== 'image/png' || head.length < 24) return false;
  return Math.max(head.readUInt32BE(16), head.readUInt32BE(20)) > MAX_SIDE;
}

/** The text before an image of a tool's result, where a provider takes no image in the result itself. */
export function imageLabel(toolName: string): string {
  return `Image from ${toolName}:`;
}

const IMAGE_LABEL = /^Image from .{1,128}:$/;

/** Whether a text is one of {@link imageLabel}. */
export function isImageLabel(text: string): boolean {
  return IMAGE_LABEL.test(text);
}

interface Parts {
  readonly text: TextPart;
  readonly image: ImagePart;
  readonly tool_call: ToolCallPart;
}

function isPart<K extends keyof Parts>(part: { readonly type: string }, type: K): part is Parts[K] {
  return part.type === type;
}
