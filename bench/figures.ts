/** Reads the figures of the summary out of what the benches print. */

/** Instead of a figure that a bench did not print, as one that failed: the readers and the benches have to agree. */
export const NOT_PRINTED = 'not printed';

/** A line of the summary. */
export interface Figure {
  readonly what: string;
  readonly median: string;
  /** Range or quartiles over the rounds; empty where a bench prints none. */
  readonly spread: string;
  /** What it should be, such as `<= 0.7`. */
  readonly aim?: string;
}

/** The cells of the lines of a bench's tables: of `console.table`, with bars, or in columns. */
function rowsOf(output: string): readonly (readonly string[])[] {
  return output.split('\n').map((line) => {
    if (line.includes('│')) {
      const cells = line.split('│').slice(1, -1);
      return cells.slice(1).map((cell) => cell.trim().replace(/^'(.*)'$/, '$1'));
    }
    return line.trim().split(/\s*\|\s*|\s{2,}/);
  });
}

/** What a bench printed, or one table of it. */
export class Table {
  readonly #output: string;
  readonly #rows: readonly (readonly string[])[];

  constructor(output: string) {
    this.#output = output;
    this.#rows = rowsOf(output);
  }

  /** The tables below titles that match, up to the next empty line, by the first group of the pattern. */
  titled(title: RegExp): ReadonlyMap<string, Table> {
    const found = new Map<string, Table>();
    for (const part of this.#output.split(/\n\s*\n/)) {
      const [, name] = title.exec(part) ?? [];
      if (name !== undefined) found.set(name, new Table(part));
    }
    return found;
  }

  /** Rows whose first cells begin with these texts. */
  rows(...first: readonly string[]): readonly (readonly string[])[] {
    return this.#rows.filter((cells) => first.every((text, i) => cells[i]?.startsWith(text)));
  }

  /** The first row with this name, rather than one that begins with it. */
  exact(name: string): readonly string[] | undefined {
    return this.#rows.find(([first]) => first === name);
  }

  /** A cell of the first such row. */
  cell(column: number, ...first: readonly string[]): string {
    return this.rows(...first)[0]?.[column] ?? NOT_PRINTED;
  }
}

/** `12.3 (11.0-14.2)` in its two parts. */
export function parted(text: string): { readonly median: string; readonly spread: string } {
  const [, median = text, spread = ''] = /^(\S+) \(([^)]*)\)$/.exec(text) ?? [];
  return { median, spread };
}

/** Whether a figure is as it should be; empty without an aim, and for a figure that is no number. */
export function verdict({ median, aim = '' }: Figure): string {
  const [, sign, limit] = /^(<=|>=) ([\d.]+)$/.exec(aim) ?? [];
  const value = Number(median);
  if (sign === undefined || Number.isNaN(value)) return '';
  const isMet = sign === '<=' ? value <= Number(limit) : value >= Number(limit);
  return isMet ? 'yes' : 'no';
}
