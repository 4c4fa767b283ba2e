/** Sources as one text, joined by line breaks, which is never put together: each may be many megabytes long. */
export class JoinedSources {
  readonly length: number;
  readonly #sources: readonly string[];

  constructor(sources: readonly string[]) {
    this.#sources = sources;
    this.length = sources.reduce((sum, { length }) => sum + length + 1, 0) - (sources.length > 0 ? 1 : 0);
  }

  /** As `slice` of the joined text; neither place may be negative. */
  slice(start: number, end: number): string {
    const parts: string[] = [];
    let at = 0;
    for (const source of this.#sources) {
      if (at > end) break;
      const stop = at + source.length;
      if (stop >= start) parts.push(source.slice(Math.max(0, start - at), Math.max(0, end - at)));
      at = stop + 1;
    }
    return parts.join('\n').slice(0, Math.max(0, end - start));
  }
}
