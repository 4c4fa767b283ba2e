/** Names of complete files. Excludes `.work`, the folder of incomplete ones, and names that leave the archive. */
const NAME = /^(?:day=(\d{4}-\d{2}-\d{2})|late)\/[\w%-]{1,200}\.parquet$/;

/** Name of the file with the rows of a table, in the archive: `day=2026-11-22/mcp_traces_20261122.parquet`. */
export function nameOfFile(table: string, day: string | null): string {
  // A partition may have any name; it must not become a path.
  const plain = table.replace(/[^\w-]/gu, (char) => `%${Buffer.from(char).toString('hex')}`);
  return `${day === null ? 'late' : `day=${day.slice(0, 10)}`}/${plain}.parquet`;
}

/** Whether this is the name of a complete file of an archive; a folder or bucket may also hold foreign files. */
export function isNameOfFile(name: string): boolean {
  return NAME.test(name);
}

/** Days of spans, each as `2026-11-22`, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Whether a file may have spans of these days. Late spans may be of any day. */
export function mayHaveDays(name: string, { from, to }: DayRange): boolean {
  const day = NAME.exec(name)?.[1];
  return day === undefined || (from <= day && day <= to);
}
