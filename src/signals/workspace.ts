import { Kernel } from './kernel.ts';
import { normalize } from './normalize.ts';
import { extractNumbers, type Numbers, parseLongNumber } from './numbers.ts';
import { KernelTokenSets, PlainTokenSets, type TokenSets } from './token-sets.ts';
import { Utf8Text } from './utf8-text.ts';

let started: { readonly kernel: Kernel | undefined; readonly tokenSets: TokenSets } | undefined;

/**
 * Buffers shared by all computations of this folder: they are synchronous, and none calls foreign code while using
 * them.
 */
export const source: Utf8Text = new Utf8Text();
export const normalized: Utf8Text = new Utf8Text();

/** Below this, moving a text into the kernel and back costs more than the kernel saves. */
const SHORT_BYTES = 512;

/** Encodes a text and its normal form. */
export function encodeAndNormalize(text: string, replaceVolatile: boolean): void {
  source.encode(text);
  const kernel = kernelForSource();
  if (kernel !== undefined) kernel.normalize(source, normalized, replaceVolatile);
  else normalize(source, normalized, replaceVolatile);
}

/**
 * Encodes a text so that its tokens are those of the lower-cased text. It is unchanged unless it holds one of the two
 * characters that lower-casing turns into ASCII letters, the Kelvin sign and the dotted capital I.
 */
export function encodeForTokens(text: string): Utf8Text {
  source.encode(text);
  if (source.ascii || !(text.includes('\u212a') || text.includes('\u0130'))) return source;
  normalize(source, normalized, false);
  return normalized;
}

/** The numbers in the text encoded last. */
export function numbersInSource(): Numbers {
  return kernelForSource()?.numbers(source, parseInSource) ?? extractNumbers(source);
}

function parseInSource(start: number, end: number): number {
  return parseLongNumber(source, start, end);
}

/** Releases oversized buffers. Call it when a computation is done. */
export function release(): void {
  source.release();
  normalized.release();
  started?.kernel?.release();
}

/** The sets of tokens that all computations share. */
export function shareTokenSets(): TokenSets {
  return start().tokenSets;
}

function kernelForSource(): Kernel | undefined {
  return source.ascii && source.length > SHORT_BYTES ? start().kernel : undefined;
}

/** With the first text: an import does not pay for it. */
function start(): NonNullable<typeof started> {
  if (started !== undefined) return started;
  const kernel = startKernel();
  started = { kernel, tokenSets: kernel === undefined ? new PlainTokenSets() : new KernelTokenSets(kernel) };
  return started;
}

/** @returns undefined where the engine lacks WebAssembly or 128-bit vectors; all works without it, more slowly. */
function startKernel(): Kernel | undefined {
  try {
    return new Kernel();
  } catch {
    return undefined;
  }
}
