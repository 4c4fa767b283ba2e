/** Which parts of a usage are beside its input and its output. */

export interface WholeAndParts {
  readonly input: number;
  readonly read: number;
  readonly write: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Which parts the dialects of their names count beside their whole. */
export interface Apart {
  readonly cached: boolean;
  /** Cached tokens may be in the input or beside it. */
  readonly isUnsure: boolean;
  /** What was written to the cache has a name of another dialect than the input and what was read. */
  readonly written: boolean;
  readonly reasoning: boolean;
  /** Its maker counts reasoning beside the output, and some of those who pass that on count it in it. */
  readonly isReasoningUnsure: boolean;
}

/** How many tokens are beside the input, and beside the output. */
interface Reading {
  readonly cached: number;
  readonly reasoning: number;
}

export const NOTHING_BESIDE: Reading = { cached: 0, reasoning: 0 };

/**
 * The reading that the total and the sizes allow; undefined when none does, or two that differ.
 * @param hasRest the total tells of tokens that no name does.
 */
export function chooseReading(
  parts: WholeAndParts,
  apart: Apart,
  total: number | undefined,
  hasRest: boolean,
): Reading | undefined {
  const { input, read, write, output, reasoning } = parts;
  const cached = listBeside(read + write, input, apart.cached);
  if (apart.written && write > 0 && read > 0 && read <= input) cached[cached.length - 1] = write;
  const possible = listBeside(reasoning, output, apart.reasoning).flatMap((tokens) =>
    cached.map((cachedTokens): Reading => ({ cached: cachedTokens, reasoning: tokens })),
  );
  const beside = total === undefined ? 0 : total - input - output;
  if (apart.isUnsure && cached.length > 1 && beside === 0) return undefined;
  if (total === undefined)
    return apart.isReasoningUnsure && reasoning > 0 && reasoning <= output ? undefined : possible[0];
  const fitting = possible.filter((reading) => reading.cached + reading.reasoning === beside);
  if (fitting.length > 0) return fitting.length === 1 ? fitting[0] : undefined;
  // Some totals leave out what their own dialect counts apart.
  const isExplained = [0, read + write, reasoning, read + write + reasoning].includes(beside);
  return isExplained || hasRest ? possible[0] : undefined;
}

/** How much of a part may be beside its whole: nothing, unless it must be or exceeds it, or all. */
function listBeside(part: number, whole: number, mustBe: boolean): number[] {
  if (part === 0) return [0];
  return mustBe || part > whole ? [part] : [0, part];
}

/** Gemini's own thoughts, of which its answers in OpenAI's form tell nothing but the total. */
export function toRest(parts: WholeAndParts, total: number | undefined, model: string | undefined): number {
  if (total === undefined || parts.reasoning > 0 || model === undefined || !/gemini/i.test(model)) return 0;
  return Math.max(0, total - parts.input - parts.output);
}
