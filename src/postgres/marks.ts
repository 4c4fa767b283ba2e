import { cleanText, cutText } from './clean-text.ts';

/** Lists, in `attributes`, what could not be stored as it was: names of attributes and columns. */
export const SANITIZED_ATTRIBUTE = 'observatory.sanitised';

/** Lists, in `attributes`, what was cut because it was too long or too much: names of attributes and columns. */
export const TRUNCATED_ATTRIBUTE = 'observatory.truncated';

/** Names listed of one kind, and their length: a mark must not be the flood it tells of. */
const MAX_NAMES = 100;
const MAX_NAME_CHARS = 200;

/** What had to be changed in one row. */
export class Marks {
  /** Names whose characters or values Postgres or JSON cannot say. */
  readonly sanitized: Set<string> = new Set();
  /** Names of what was too long, too deep or too much. */
  readonly truncated: Set<string> = new Set();

  sanitize(name: string): void {
    add(this.sanitized, name);
  }

  truncate(name: string): void {
    add(this.truncated, name);
  }

  /** For the next row. */
  clear(): void {
    if (this.sanitized.size > 0) this.sanitized.clear();
    if (this.truncated.size > 0) this.truncated.clear();
  }

  get isEmpty(): boolean {
    return this.sanitized.size === 0 && this.truncated.size === 0;
  }

  /** Takes over marks that were made before: those of a resource, or of a row that is stored once more. */
  addAll(sanitized: Iterable<string>, truncated: Iterable<string>): void {
    for (const name of sanitized) this.sanitize(name);
    for (const name of truncated) this.truncate(name);
  }
}

function add(names: Set<string>, name: string): void {
  if (names.size < MAX_NAMES) names.add(cleanText(cutText(name, MAX_NAME_CHARS)));
}
