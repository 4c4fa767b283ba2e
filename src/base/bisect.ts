/** What an attempt showed about a part: all of it is done, some of it is bad, or the search has to end. */
export type Attempted = 'done' | 'bad' | 'stop';

/**
 * Works on items in order. A part that is bad is halved until each bad item was attempted alone, so one bad item among
 * 512 costs ten failed attempts. The first attempt is at all items.
 *
 * @returns the items that are left, including those of the part that stopped the search.
 * @throws what `attempt` throws.
 */
export async function bisect<T>(
  items: readonly T[],
  attempt: (part: readonly T[]) => Promise<Attempted>,
): Promise<readonly T[]> {
  const parts = [items];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const attempted = await attempt(part);
    if (attempted === 'stop') return [part, ...parts.reverse()].flat();
    if (attempted === 'done' || part.length < 2) continue;
    const middle = (part.length + 1) >> 1;
    // The second half first, because parts are popped from the end.
    parts.push(part.slice(middle), part.slice(0, middle));
  }
  return [];
}
