import type { Queryable } from '../../src/postgres/index.ts';
import { createPartitions, listPartitions } from '../../src/postgres/partitions.ts';

/**
 * Gives an empty migrated database the partitions that a migration would make now. It may have been migrated, or copied
 * from one that was, before midnight.
 */
export async function makePartitionsOfToday(db: Queryable, now = Date.now()): Promise<void> {
  for (const { table, to } of await listPartitions(db)) {
    if (to !== null && Date.parse(to) <= now) await db.query(`DROP TABLE ${table}`);
  }
  await createPartitions(db);
}
