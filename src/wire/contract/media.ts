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

/** Anthropic, "Vision": 5 MB of base64 an image, 8,000 pixels a side, and 2,000 where there are more than 20 images. */
const ANTHROPIC_LIMITS = { chars: 5 * 1024 * 1024, side: 8_000, many: 20, sideOfMany: 2_000 };

/** The conversation as a provider takes it: other images are a line of text, and every text is well-formed. */
export function fitMessages(
  messages: readonly ModelMessage[],
  provider: keyof typeof IMAGE_TYPES,
): readonly ModelMessage[] {
  const types: readonly string[] = IMAGE_TYPES[provider];
  const { chars, side, many, sideOfMany } = ANTHROPIC_LIMITS;
  const isMany = provider === 'anthropic' && countImages(messages) > many;
  const isTooLarge = (image: ImagePart): boolean =>
    provider === 'anthropic' &&
    (image.data.length > chars || longestSide(image) > (isMany ? sideOfMany : side));
  const fit = <P extends { readonly type: string }>(part: P): P | TextPart => {
    if (isPart(part, 'text'))
      return isWellFormed(part.text) ? part : { ...part, text: toWellFormed(part.text) };
    if (isPart(part, 'image') && !types.includes(part.mimeType))
      return { type: 'text', text: `[${part.mimeType} image, a type the model cannot see]` };
    if (isPart(part, 'image') && isTooLarge(part))
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

function countImages(messages: readonly ModelMessage[]): number {
  const parts = messages.flatMap((message) => {
    if (message.role === 'tool') return message.parts.flatMap(({ content }) => content);
    return message.role === 'user' ? message.parts : [];
  });
  return parts.filter(({ type }) => type === 'image').length;
}

/** Base64 in which the frame of a JPEG is looked for, behind thumbnails and profiles. */
const MAX_JPEG_HEAD = 512 * 1024;
const HEAD = 64;

/** Pixels of the longer side by the image's own header; 0 where that says none. */
function longestSide({ mimeType, data }: ImagePart): number {
  const isJpeg = mimeType === 'image/jpeg';
  const bytes = Buffer.from(data.slice(0, isJpeg ? MAX_JPEG_HEAD : HEAD), 'base64');
  if (isJpeg) return sideOfJpeg(bytes);
  if (bytes.length < 30) return 0;
  if (mimeType === 'image/png') return Math.max(bytes.readUInt32BE(16), bytes.readUInt32BE(20));
  if (mimeType === 'image/gif') return Math.max(bytes.readUInt16LE(6), bytes.readUInt16LE(8));
  const format = bytes.toString('latin1', 12, 16);
  if (format === 'VP8X') return Math.max(bytes.readUIntLE(24, 3), bytes.readUIntLE(27, 3)) + 1;
  const [width, height] =
    format === 'VP8L'
      ? [bytes.readUInt32LE(21), bytes.readUInt32LE(21) >>> 14]
      : [bytes.readUInt16LE(26), bytes.readUInt16LE(28)];
  return Math.max(width & 0x3fff, height & 0x3fff);
}

function sideOfJpeg(bytes: Buffer): number {
  for (let at = 2; at + 9 <= bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt16BE(at);
    if (marker < 0xff01) return 0;
    // A frame, but not the tables and the arithmetic conditioning that have markers among those of frames.
    if (marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker))
      return Math.max(bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7));
  }
  return 0;
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
