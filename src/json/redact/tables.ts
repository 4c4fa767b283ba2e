/** Secrets in the column of a table under a name: CSV, TSV, Markdown, what psql and mysql print, `INSERT INTO`. */
import { type Find, findOf, type Reading } from './find.ts';
import { type NameKind, nameKind } from './names.ts';
import { isPlaceholder } from './opaque.ts';
import { isTelling } from './values.ts';

/** Longest header and row, and how much of a table is looked at. */
const MAX_LINE = 512;
const MAX_ROW = 4_096;
const MAX_TABLE = 1_048_576;

const PLAIN_CELL = /^["']?[a-z][\w.-]*["']?$/i;
const HEADER_CELL = /^[\s"'`*]{0,20}[A-Za-z_\u0370-\uffff][\w .\u0370-\uffff-]{0,40}[\s"'`*]{0,40}$/;

/** Secrets of the table whose header has the name at `at`. */
export function findColumns(text: string, at: number, reading: Reading): Find | undefined {
  return findInserted(text, at, reading) ?? findRows(text, at, reading);
}

function findRows(text: string, at: number, reading: Reading): Find | undefined {
  if (!/[\s"'`*|,;]/.test(text.charAt(at - 1) || ' ')) return undefined;
  const from = lineStart(text, at, reading);
  if (from === undefined || !reading.mayOpenTable(from) || !reading.isNewLine(from)) return undefined;
  let to = lineEnd(text, at);
  if (to - from > MAX_LINE || to >= text.length || !opensTable(text, from)) return undefined;
  const line = text.slice(from, to);
  const sign = line.includes('|') ? '|' : line.includes('\t') ? '\t' : line.includes(';') ? ';' : ',';
  const header = cellsOf(line, sign);
  let kinds = columnKinds(header, sign);
  if (kinds === undefined) return undefined;
  const isPlain = sign === ',' && header.every(({ text: cell }) => PLAIN_CELL.test(cell.trim()));
  const finds: Find[] = [];
  let isAfterRule = false;
  const end = Math.min(text.length, to + MAX_TABLE);
  while (to < end) {
    const start = to + 1;
    to = lineEnd(text, start);
    if (to - start >= MAX_ROW) break;
    const row = text.slice(start, to).replace(/\r$/, '');
    const isAfter = isAfterRule;
    isAfterRule = isRule(row);
    if (isAfterRule) continue;
    const cells = cellsOf(row, sign);
    if (cells.length !== header.length) break;
    for (const [index, cell] of cells.entries()) {
      const kind = kinds[index];
      if (kind !== undefined) pushCell(finds, cell, start, kind, isPlain);
    }
    // Behind a rule the row may be the header of another table, which is read with this one: each row is read once.
    const others = isAfter ? columnKinds(cells, sign) : undefined;
    if (others !== undefined) kinds = kinds.map((kind, index) => kind ?? others[index]);
  }
  reading.readTable(to);
  return findOf(finds);
}

/** The kinds of the columns under a header; undefined if it is none, or none of them is secret. */
function columnKinds(header: readonly Cell[], sign: string): (NameKind | undefined)[] | undefined {
  if (header.length < 2) return undefined;
  const names = header.map(({ text }) => text.trim());
  const isEdge = (index: number) => sign === '|' && (index === 0 || index === names.length - 1);
  if (!names.every((name, index) => HEADER_CELL.test(name) || (name === '' && isEdge(index))))
    return undefined;
  if (sign === ',' && names.some((name) => /\s/.test(name))) return undefined;
  const kinds = names.map((name) => nameKind(name.replace(/["'`*]/g, '').replaceAll(' ', '_')));
  return kinds.every((kind) => kind === undefined) ? undefined : kinds;
}

/** A line of dashes between the rows of a table. */
function isRule(line: string): boolean {
  return line.includes('--') && /^[\s|+:=-]*$/.test(line);
}

/** A table begins a text or stands after a blank line, a fence or a rule. */
function opensTable(text: string, from: number): boolean {
  if (from === 0) return true;
  const before = text.slice(Math.max(0, from - 200), from - 1);
  const line = before.slice(before.lastIndexOf('\n') + 1).trim();
  return line === '' || isRule(line) || /^(?:```|~~~|<pre|\$ |[\w ]{0,60}:$)/.test(line);
}

/** Where the line of `at` begins; undefined if too far away. */
function lineStart(text: string, at: number, reading: Reading): number | undefined {
  const before = reading.newline.before(text, at, MAX_LINE);
  return before === -1 && at > MAX_LINE ? undefined : before + 1;
}

/** Where the line ends that begins at `from`, or {@link MAX_ROW} further. */
function lineEnd(text: string, from: number): number {
  const near = text.slice(from, from + MAX_ROW);
  const end = near.indexOf('\n');
  return from + (end === -1 ? near.length : end);
}

interface Cell {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The cells of a line; the separator does not count within quotes. */
function cellsOf(line: string, sign: string, quote = sign === '|' ? '' : '"'): Cell[] {
  const cells: Cell[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at <= line.length; at += 1) {
    const char = line.charAt(at);
    if (char === quote && char !== '') isQuoted = !isQuoted;
    if (at < line.length && (char !== sign || isQuoted)) continue;
    cells.push({ text: line.slice(start, at), start, end: at });
    start = at + 1;
  }
  return cells;
}

function pushCell(finds: Find[], cell: Cell, from: number, kind: NameKind, isPlain: boolean): void {
  const value = cell.text.replace(/^[\s"'`(]+|[\s"'`)]+$/g, '');
  if (value.length < 4 || /\s/.test(value) || isPlaceholder(value) || nameKind(value) !== undefined) return;
  const isWord = isPlain && kind === 'strong' && value.length >= 8 && /^[\w!@#$%^*+./=~-]+$/.test(value);
  if (!isWord && !isTelling(value, kind)) return;
  const start = from + cell.start + cell.text.indexOf(value);
  finds.push({ start, end: start + value.length, kind: 'secret' });
}

/** Parentheses in each other in a row that is inserted. */
const MAX_DEPTH = 16;

const COLUMNS = /\(([^()']{3,400})\)\s{0,8}values\s{0,8}/iy;
const ROW_START = /[\s,]{0,20}\(/y;

/** `INSERT INTO users (name, password) VALUES ('bob', '...')` */
function findInserted(text: string, at: number, reading: Reading): Find | undefined {
  if (!/[(,\s"`[]/.test(text.charAt(at - 1))) return undefined;
  const open = reading.parenthesis.before(text, at, 400);
  if (open === -1) return undefined;
  COLUMNS.lastIndex = open;
  const list = COLUMNS.exec(text)?.[1];
  if (list === undefined) return undefined;
  const kinds = list.split(',').map((name) => nameKind(name.replace(/["`[\]\s]/g, '')));
  const finds: Find[] = [];
  let to = COLUMNS.lastIndex;
  for (let rows = 0; rows < 1_000; rows += 1) {
    ROW_START.lastIndex = to;
    if (!ROW_START.test(text)) break;
    const start = ROW_START.lastIndex;
    const end = closingParenthesis(text, start);
    if (end === undefined) break;
    cellsOf(text.slice(start, end), ',', "'").forEach((cell, index) => {
      const [, value] = /^\s*[NE]?'(.*)'\s*$/s.exec(cell.text) ?? [];
      if (kinds[index] === undefined || value === undefined || value.length < 4 || isPlaceholder(value))
        return;
      const begin = start + cell.start + cell.text.indexOf("'") + 1;
      finds.push({ start: begin, end: begin + value.length, kind: 'secret' });
    });
    to = end + 1;
  }
  return findOf(finds);
}

/** Where the parenthesis before `start` is closed, outside of quotes. */
function closingParenthesis(text: string, start: number): number | undefined {
  const near = text.slice(start, start + MAX_ROW);
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < near.length && depth < MAX_DEPTH; at += 1) {
    const code = near.charCodeAt(at);
    if (code === 0x27) isQuoted = !isQuoted;
    else if (!isQuoted && code === 0x28) depth += 1;
    else if (!isQuoted && code === 0x29) {
      if (depth === 0) return start + at;
      depth -= 1;
    }
  }
  return undefined;
}
