import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fstatSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Writable } from 'node:stream';
import { printable, printableLine } from '../../base/index.ts';

/** SGR codes that switch a style on and off. On Node 20, `styleText` of node:util checks the wrong stream. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

type Style = keyof typeof STYLES;

/** Styles text, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

/** Marks styles in text until it is written. It is random, so that text from outside cannot contain it. */
const MARK = `style-${randomUUID()}-`;
const MARKED = new RegExp(`${MARK}(\\d+);`, 'g');

/**
 * One of the two outputs of a command. Everything that a command prints passes {@link printable}, so no name, answer or
 * error can control the terminal, whatever it holds; only styles of {@link Output.paint} become escape sequences.
 */
export class Output {
  readonly #stream: Writable;
  /** Marks text as styled, on a terminal; `NO_COLOR` (any value but empty) turns that off, see https://no-color.org. */
  readonly paint: Paint;

  constructor(stream: Writable, env: Readonly<Record<string, string | undefined>>) {
    this.#stream = stream;
    const colors = this.isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
    this.paint = colors
      ? (style, text) => `${MARK}${STYLES[style][0]};${text}${MARK}${STYLES[style][1]};`
      : (_style, text) => text;
  }

  get isTerminal(): boolean {
    return 'isTTY' in this.#stream && this.#stream.isTTY === true;
  }

  get columns(): number | undefined {
    const columns = 'columns' in this.#stream ? Number(this.#stream.columns) : 0;
    return columns > 0 ? columns : undefined;
  }

  /** Whether nobody reads any more. */
  get isClosed(): boolean {
    return this.#stream.destroyed;
  }

  /** Whether it goes to the null device, which Node opens too where a program is started with a closed one. */
  get isNowhere(): boolean {
    const { rdev } = 'fd' in this.#stream ? fstatSync(Number(this.#stream.fd)) : { rdev: 0 };
    return rdev !== 0 && rdev === statSync(devNull, { throwIfNoEntry: false })?.rdev;
  }

  /** Writes text of any number of lines. */
  write(text: string): void {
    this.#put(encode(text));
  }

  /** Writes exactly one line: line feeds in the text are escaped, so that it cannot add a line of its own. */
  writeLine(text: string): void {
    this.write(`${printableLine(text)}\n`);
  }

  /** Writes, and waits while the stream is full. */
  async writeAll(text: string): Promise<void> {
    if (this.isClosed || this.#put(encode(text))) return;
    const given = new AbortController();
    try {
      await Promise.race(
        ['drain', 'close'].map((event) => once(this.#stream, event, { signal: given.signal })),
      );
    } finally {
      given.abort();
    }
  }

  /** Replaces the current line of a terminal. */
  rewriteLine(text: string): void {
    this.#put(`\r\u001b[2K${encode(printableLine(text))}`);
  }

  #put(text: string): boolean {
    return this.#stream.write(text);
  }
}

function encode(text: string): string {
  const safe = printable(text);
  return safe.includes(MARK) ? safe.replace(MARKED, '\u001b[$1m') : safe;
}
