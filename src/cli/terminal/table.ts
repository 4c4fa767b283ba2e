/** A column of a printed table. */
export interface TableColumn<R> {
  readonly title: string;
  readonly align?: 'left' | 'right' | undefined;
  readonly value: (row: R) => string;
}

/** Lays rows out in columns two spaces apart, under a ruled header. Widths count code points. */
export function formatTable<R>(columns: readonly TableColumn<R>[], rows: readonly R[]): string {
  const cells = rows.map((row) => columns.map((column) => column.value(row)));
  const widths = columns.map((column, i) =>
    Math.max(lengthOf(column.title), ...cells.map((row) => lengthOf(row[i] ?? ''))),
  );
  const line = (values: readonly string[]) =>
    values
      .map((value, i) => pad(value, widths[i] ?? 0, columns[i]?.align ?? 'left'))
      .join('  ')
      .trimEnd();
  const header = line(columns.map((column) => column.title));
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [header, rule, ...cells.map(line)].join('\n');
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const filler = ' '.repeat(Math.max(0, width - lengthOf(text)));
  return align === 'right' ? filler + text : text + filler;
}

function lengthOf(text: string): number {
  return [...text].length;
}
