import type { Queryable } from '../../postgres/index.ts';

/** A database that keeps the statements it runs, with their values written out, for people to run themselves. */
export function recording(db: Queryable): { readonly db: Queryable; readonly statements: readonly string[] } {
  const statements: string[] = [];
  return {
    statements,
    db: {
      ...db,
      query: (text: string, values?: readonly unknown[]) => {
        statements.push(written(text, values ?? []));
        return db.query(text, values as unknown[]);
      },
    } as Queryable,
  };
}

function written(text: string, values: readonly unknown[]): string {
  const lines = text
    .replace(/\$(\d{1,3})/gu, (_, place: string) => literal(values[Number(place) - 1]))
    .split('\n');
  const indents = lines
    .slice(1)
    .filter((line) => line.trim() !== '')
    .map((line) => line.search(/\S/u));
  const least = Math.min(...indents, 40);
  return `${[lines[0], ...lines.slice(1).map((line) => line.slice(least))].join('\n').trim()};`;
}

/** A value as SQL. Backslashes are literal in standard strings. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]`;
  return `'${String(value).replaceAll("'", "''")}'`;
}
