import { cleanText, cutText } from './clean-text.ts';

/** Entry of `attributes` with the names of attributes and columns that could not be stored unchanged. */
export const SANITIZED_ATTRIBUTE = 'observatory.sanitised';

/** Entry of `attributes` with the names of attributes and columns that were cut. */
export const TRUNCATED_ATTRIBUTE = 'observatory.truncated';

export const MARK_ATTRIBUTES: readonly string[] = [SANITIZED_ATTRIBUTE, TRUNCATED_ATTRIBUTE];

/** Bounds of each list, which would otherwise grow with the values that were cut. */
const MAX_NAMES = 100;
const MAX_NAME_CHARS = 200;

/** Changes to the values of one row. */
export class Marks {
  /** Names of values that Postgres or JSON cannot represent. */
  readonly sanitized: Set<string> = new Set();
  /** Names of values that were too long, too deep or too many. */
  readonly truncated: Set<string> = new Set();

  sanitize(name: string): void {
    add(this.sanitized, name);
  }

  truncate(name: string): void {
    add(this.truncated, name);
  }

  /** Prepares for the next row. */
  clear(): void {
    if (this.sanitized.size > 0) this.sanitized.clear();
    if (this.truncated.size > 0) this.truncated.clear();
  }

  get isEmpty(): boolean {
    return this.sanitized.size === 0 && this.truncated.size === 0;
  }

  /** Adds earlier marks: those of a resource, or of a row that is stored again. */
  addAll(sanitized: Iterable<string>, truncated: Iterable<string>): void {
    for (const name of sanitized) this.sanitize(name);
    for (const name of truncated) this.truncate(name);
  }
}

function add(names: Set<string>, name: string): void {
  if (names.size < MAX_NAMES) names.add(cleanText(cutText(name, MAX_NAME_CHARS)));
}
