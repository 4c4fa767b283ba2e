/**
 * A stdio MCP server over a small Postgres database (PGlite, in memory): `list_tables`, `describe_table`, and `query`,
 * which can only read. Needs `@electric-sql/pglite` and `@modelcontextprotocol/sdk`.
 *
 *   node dist/examples/servers/database.js [FILE.sql]
 *
 * Without a file it has the books of a small shop.
 */
import { readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const SHOP = `
  CREATE TABLE customers (id text PRIMARY KEY, name text NOT NULL, city text NOT NULL);
  CREATE TABLE invoices (
    id text PRIMARY KEY, customer_id text NOT NULL REFERENCES customers,
    amount_eur numeric(10, 2) NOT NULL, due date NOT NULL, paid boolean NOT NULL
  );
  INSERT INTO customers VALUES ('C1', 'Ada', 'Paris'), ('C2', 'Grace', 'Oslo'), ('C3', 'Edsger', 'Rome');
  INSERT INTO invoices VALUES
    ('I-101', 'C1', 120.00, '2026-09-01', true), ('I-102', 'C1', 80.50, '2026-10-15', false),
    ('I-103', 'C2', 310.00, '2026-08-20', false), ('I-104', 'C3', 45.25, '2026-11-30', false);
`;
const MAX_ROWS = 200;

const [file] = process.argv.slice(2);
let opened: Promise<PGlite> | undefined;
/** The database, made when it is first asked: that takes seconds. */
const openDatabase = (): Promise<PGlite> => {
  opened ??= PGlite.create().then(async (database) => {
    await database.exec(file === undefined ? SHOP : readFileSync(file, 'utf8'));
    return database;
  });
  return opened;
};
// A file that cannot be run is told at once.
if (file !== undefined) await openDatabase();

const rowsOf = (rows: unknown[]) => ({ content: [{ type: 'text' as const, text: JSON.stringify(rows) }] });
const annotations = { readOnlyHint: true };
const server = new McpServer({ name: 'database', version: '1.0.0' });

server.registerTool('list_tables', { description: 'Lists the tables', annotations }, async () => {
  const { rows } = await (await openDatabase()).query(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
  );
  return rowsOf(rows);
});

server.registerTool(
  'describe_table',
  { description: 'Lists the columns of a table', inputSchema: { table: z.string() }, annotations },
  async ({ table }) => {
    const { rows } = await (await openDatabase()).query(
      'SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position',
      [table],
    );
    if (rows.length === 0) throw new Error(`relation "${table}" does not exist`);
    return rowsOf(rows);
  },
);

server.registerTool(
  'query',
  { description: 'Runs one SELECT statement', inputSchema: { sql: z.string() }, annotations },
  async ({ sql }) => {
    const rows = await (await openDatabase()).transaction(async (transaction) => {
      await transaction.exec('SET TRANSACTION READ ONLY');
      return (await transaction.query(sql)).rows;
    });
    return rowsOf(rows.slice(0, MAX_ROWS));
  },
);

await server.connect(new StdioServerTransport());
