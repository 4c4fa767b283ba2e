/**
 * A review worker. Arguments: connection string, name, lease in milliseconds, and mode: `decide` claims and approves
 * until nothing is left, printing the id of each decided review; `hang` claims one, prints its id and waits to be
 * killed.
 */
import { writeSync } from 'node:fs';
import { PostgresReviewQueue } from '../../src/approvals/index.ts';

const [connection = '', worker = '', lease = '', task] = process.argv.slice(2);
await using queue = new PostgresReviewQueue({ connection });
const claimOne = () => queue.claim({ worker, leaseMs: Number(lease) });

async function decideAll(): Promise<void> {
  for (let claim = await claimOne(); claim !== undefined; claim = await claimOne()) {
    await queue.approve(claim, { response: worker });
    writeSync(1, `${claim.id}\n`);
  }
}

if (task === 'hang') {
  const claim = await claimOne();
  writeSync(1, `${JSON.stringify(claim)}\n`);
  await new Promise(() => setInterval(() => {}, 60_000));
} else {
  // Several at once, so that claims of one process meet as those of many do.
  await Promise.all([decideAll(), decideAll(), decideAll()]);
}
