import { GATE_STATEMENTS } from '../../approvals/index.ts';
import { invalidOption } from '../../base/index.ts';
import { readList, readObject } from '../../json/index.ts';
import type { Queryable } from '../../postgres/index.ts';

/**
 * Runs what a gate in another process asks of the store: `{"text": "...", "values": [...]}`. The texts are those of this
 * version of the library, and no others.
 * @throws ObservatoryError `INVALID_OPTION` for any other; the database's errors.
 */
export async function answerGate(
  db: Queryable,
  body: unknown,
): Promise<{ rows: readonly Readonly<Record<string, unknown>>[] }> {
  const { text, values } = readObject(body);
  if (!GATE_STATEMENTS.has(text))
    throw invalidOption('text', 'a statement of a gate of the same version as `up`', typeof text);
  const given = readList(values);
  if (!given.every((value) => value === null || typeof value === 'string'))
    throw invalidOption('values', 'texts and nulls', 'something else');
  return { rows: (await db.query(String(text), given)).rows };
}
