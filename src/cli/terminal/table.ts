import { printableLine } from '../../base/index.ts';

export interface TableColumn<R> {
  readonly title: string;
  readonly align?: 'left' | 'right' | undefined;
  readonly value: (row: R) => string;
}

/** Lays rows out in columns two spaces apart, under a ruled header. Each row is one line; widths count code points. */
export function formatTable<R>(columns: readonly TableColumn<R>[], rows: readonly R[]): string {
  const cells = rows.map((row) => columns.map((column) => printableLine(column.value(row))));
  const titles = columns.map(({ title }) => printableLine(title));
  const widths = titles.map((title, i) =>
    cells.reduce((most, row) => Math.max(most, measureLength(row[i] ?? '')), measureLength(title)),
  );
  const line = (values: readonly string[]) =>
    values
      .map((value, i) => pad(value, widths[i] ?? 0, columns[i]?.align ?? 'left'))
      .join('  ')
      .trimEnd();
  const header = line(titles);
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [header, rule, ...cells.map(line)].join('\n');
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const filler = ' '.repeat(Math.max(0, width - measureLength(text)));
  return align === 'right' ? filler + text : text + filler;
}

function measureLength(text: string): number {
  return [...text].length;
}
