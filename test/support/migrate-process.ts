/** Waits for a line on stdin, then migrates through several pools at once. Arguments: connection string, pools. */
import { once } from 'node:events';
import pg from 'pg';
import { migrate } from '../../src/postgres/index.ts';

const [connectionString = '', count = '1'] = process.argv.slice(2);
const pools = Array.from({ length: Number(count) }, () => new pg.Pool({ connectionString, max: 2 }));
await Promise.all(pools.map((pool) => pool.query('SELECT 1')));
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const results = await Promise.all(pools.map((pool) => migrate(pool)));
await Promise.all(pools.map((pool) => pool.end()));
process.stdin.destroy();
process.stdout.write(`${JSON.stringify(results.flatMap((result) => result.applied))}\n`);
