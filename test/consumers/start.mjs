// A user's program without an SDK of its own: startObservatory sets one up.
import { PGlite } from '@electric-sql/pglite';
import { instrument, startObservatory } from 'mcp-observatory';

const database = await PGlite.create();
const observatory = await startObservatory({ serviceName: 'consumer', postgres: database });
const interceptor = instrument({ serviceName: 'consumer' });
await interceptor.interceptModelCall({
  model: 'gpt-4o',
  prompt: 'outer',
  call: () => interceptor.interceptModelCall({ model: 'gpt-4o', prompt: 'inner', response: 'x' }),
});
await observatory.forceFlush();
const { rows } = await database.query(
  'SELECT service, parent_span_id IS NULL AS is_root FROM mcp_traces ORDER BY parent_span_id NULLS FIRST',
);
await observatory.shutdown();
await database.close();
console.log(JSON.stringify({ node: process.version, rows }));
