/** The shadow runs of this process that are under way, so that its end can wait for them. */

interface Draining {
  drain(deadlineMs: number): Promise<void>;
}

const underWay = new Set<Draining>();

/** Has something waited for at the end, until `runsEnded` is called. */
export function runsBegan(shadow: Draining): void {
  underWay.add(shadow);
}

export function runsEnded(shadow: Draining): void {
  underWay.delete(shadow);
}

/**
 * Waits for all shadow runs of this process, and abandons those that are not done by the deadline. New runs may begin
 * afterwards. `startObservatory` does this when it shuts down; a program with an SDK of its own calls it before it
 * flushes.
 *
 * @param deadlineMs in milliseconds.
 */
export async function drainShadows(deadlineMs = 5_000): Promise<void> {
  await Promise.all([...underWay].map((shadow) => shadow.drain(deadlineMs)));
}
