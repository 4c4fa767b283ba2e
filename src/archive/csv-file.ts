import { type FileHandle, open } from 'node:fs/promises';
import { COLUMNS } from '../base/index.ts';
import { type CopyPool, copyOut, withClient } from '../postgres/index.ts';
import { DUCK_COLUMNS, literal } from './duckdb.ts';

/** Bytes gathered before they are written. */
const WRITE_BYTES = 1 << 20;
/** DuckDB's minimum limit for the length of a line. */
const LEAST_LINE_BYTES = 2 << 20;

/** Rows of `mcp_traces` in a file of comma-separated values, on their way to DuckDB. */
export interface CsvFile {
  readonly path: string;
  readonly rows: number;
  readonly longestRow: number;
}

/**
 * Writes rows to a new file that only its owner may read.
 * @param from what stands after `FROM`: a table, and a condition.
 */
export async function writeCsv(pool: CopyPool, from: string, path: string): Promise<CsvFile> {
  const file = await open(path, 'wx', 0o600);
  try {
    const sql = `SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'; SET LOCAL extra_float_digits = 1;
      COPY (SELECT ${COLUMNS.join(', ')} FROM ${from}) TO STDOUT (FORMAT csv)`;
    const { rows, longestRow, rest } = await withClient(pool, async (client) => {
      const gathered = new Gathered(file);
      const copied = await copyOut(client, sql, (row) => gathered.add(row));
      return { ...copied, rows: copied.rows, longestRow: copied.longestRow, rest: gathered };
    });
    await rest.flush();
    return { path, rows, longestRow };
  } finally {
    await file.close();
  }
}

/** Copies rows out of the buffer of the connection, which is used again, and writes them in large pieces. */
class Gathered {
  readonly #file: FileHandle;
  #rows: Buffer[] = [];
  #bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  add(row: Buffer): Promise<void> | undefined {
    this.#rows.push(Buffer.from(row));
    this.#bytes += row.length;
    return this.#bytes < WRITE_BYTES ? undefined : this.flush();
  }

  async flush(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    await this.#file.writeFile(Buffer.concat(rows));
  }
}

/**
 * A table function of DuckDB with the rows of the file. Line ends are named and the file is read from its start: texts hold
 * line ends and quotes of any kind, which a guess from the middle of a file would take for those of rows.
 */
export function readCsv({ path, longestRow }: CsvFile): string {
  const columns = DUCK_COLUMNS.map(([column, type]) => `${literal(column)}: ${literal(type)}`).join(', ');
  const line = Math.max(LEAST_LINE_BYTES, longestRow + 1);
  return `read_csv(${literal(path)}, auto_detect = false, header = false, delim = ',', quote = '"', escape = '"',
    new_line = '\\n', parallel = false, nullstr = '', allow_quoted_nulls = false, max_line_size = ${line}, buffer_size = ${2 * line},
    columns = {${columns}})`;
}
