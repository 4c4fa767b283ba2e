/** The shadow runs in progress in this process, so that its exit can wait for them. */

interface Draining {
  drain(deadlineMs: number): Promise<void>;
}

const underWay = new Set<Draining>();

/** Registers work to wait for at exit. */
export function runsBegan(shadow: Draining): void {
  underWay.add(shadow);
}

export function runsEnded(shadow: Draining): void {
  underWay.delete(shadow);
}

/**
 * Waits for all shadow runs of this process and abandons the rest at the deadline. New runs may start afterwards.
 * `startObservatory` does this on shutdown; a program with its own SDK calls it before flushing.
 *
 * @param deadlineMs in milliseconds.
 */
export async function drainShadows(deadlineMs = 5_000): Promise<void> {
  await Promise.all([...underWay].map((shadow) => shadow.drain(deadlineMs)));
}
