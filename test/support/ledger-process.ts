/**
 * A process that makes refunds, many at a time, and is killed before it knows what became of them. Arguments: connection
 * string or the address of an `up`, the file of the bank, first and last payment, seed. Each refund is at another point when
 * the process dies: not sent yet, done and not answered, answered with an error, or settled. A refund of the bank is a line
 * of its file.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { guardedCall, PolicyGate } from '../../src/policy/index.ts';
import { LEDGER_POLICY, LEDGER_TOOLS, refundOf } from './ledger-policy.ts';
import { random } from './random.ts';

const [connectionString = '', bank = '', first = '', last = '', seed = ''] = process.argv.slice(2);
const chance = random(Number(seed));
const isUp = connectionString.startsWith('http:');
const pool = new pg.Pool({ connectionString, max: 1 });
pool.on('error', () => {});
const gate = new PolicyGate({
  policy: LEDGER_POLICY,
  tools: LEDGER_TOOLS,
  ledger: isUp ? connectionString : pool,
});
let waiting = Number(last) - Number(first);

/** Dies as soon as every refund is settled, refused, or hangs. */
function arrive(): void {
  waiting -= 1;
  if (waiting <= 0) process.kill(process.pid, 'SIGKILL');
}

async function refund(id: string): Promise<void> {
  const stage = chance(5);
  const invoke = async (): Promise<unknown> => {
    if (stage !== 0 && stage !== 3) appendFileSync(bank, `${id}\n`);
    if (stage < 2) {
      arrive();
      return await new Promise(() => {});
    }
    return { content: [], ...(stage === 3 ? { isError: true } : {}) };
  };
  const read = async (): Promise<unknown> => {
    const isDone = readFileSync(bank, 'utf8').split('\n').includes(id);
    return { content: [], structuredContent: { status: isDone ? 'succeeded' : 'none' } };
  };
  await guardedCall({ server: 'pay', tool: 'refund', args: refundOf(id, 1) }, invoke, { gate, read }).catch(
    () => {},
  );
  arrive();
}

for (let at = Number(first); at < Number(last); at += 1) void refund(`p${at}`);
