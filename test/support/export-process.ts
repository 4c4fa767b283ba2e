/**
 * Exports one span and ends by itself, or not if something was left open. Arguments: connection string, and
 * `shutdown` to close the exporter.
 */
import { PostgresSpanExporter } from 'mcp-observatory';
import { exportSpans } from './export.ts';
import { spanWith } from './spans.ts';

const [connection = '', shutdown] = process.argv.slice(2);
const exporter = new PostgresSpanExporter({ connection, migrate: true });
const result = await exportSpans(exporter, [spanWith({})]);
if (shutdown === 'shutdown') await exporter.shutdown();
process.stdout.write(`${JSON.stringify({ code: result.code, ...exporter.stats })}\n`);
