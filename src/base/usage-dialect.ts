/** How a table of names of token counts is written. */

/** What is charged by the thousand: the name of its price in the table, and the word for it where there is none. */
export const FEES = {
  /** Searches of the web, and of files, that the provider made. */
  webSearches: { price: 'web_searches_kcount', word: 'web_search' },
  fileSearches: { price: 'storage_searches_kcount', word: 'file_search' },
} as const;

export type FeeUnit = keyof typeof FEES;

export const FEE_UNITS = Object.keys(FEES) as readonly FeeUnit[];

/** What is counted. Tokens of a kind are part of the input or the output, unless their entry says that they are not. */
export const USAGE_UNITS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
  'reasoningTokens',
  /** Of results of tools that the provider ran, beside the input (Gemini). */
  'toolPromptTokens',
  'inputAudioTokens',
  'cacheReadAudioTokens',
  'inputImageTokens',
  'cacheReadImageTokens',
  'inputVideoTokens',
  'outputAudioTokens',
  'outputImageTokens',
  'outputVideoTokens',
  'citationTokens',
  ...FEE_UNITS,
  /** Of the audio that was given, where that is what is charged. */
  'audioSeconds',
] as const;

export type UsageUnit = (typeof USAGE_UNITS)[number];

export interface UsageDialect {
  /** Who writes these names, and where that can be read. */
  readonly source: string;
  /** `span`: attributes. `json`: members of a usage object, with dots where they are nested. */
  readonly on: 'span' | 'json';
  /** The attribute whose object alone has these names, which mean something else elsewhere. */
  readonly in?: string;
  /**
   * Cached tokens are beside the input: always, or unless the total tells otherwise. @defaultValue in it, unless the
   * total tells otherwise
   */
  readonly cacheApart?: true | 'by total';
  /** Likewise, reasoning is beside the output. */
  readonly reasoningApart?: true | 'by total';
  /** Audio and images are beside the input and the output, unless the total tells otherwise. */
  readonly mediaApart?: true;
  /** In some versions cached tokens of Anthropic and Bedrock are beside the input; its total has no part in that. */
  readonly isUnsure?: true;
  /** Its counts are what is billed, of which counts under the names of other dialects are no part. */
  readonly isAlone?: true;
  /** Names by unit, separated by white space. The first name of the first dialect that has a valid value counts. */
  readonly names: { readonly [U in UsageUnit]?: string };
}

/** The names of a unit in one dialect. */
export function splitNames(names: string | undefined): readonly string[] {
  return names?.split(/\s+/) ?? [];
}
