/**
 * Whether work is done within a time in milliseconds. It is waited for no longer, and no timer is left behind. Rejects if
 * the work does meanwhile.
 */
export async function isDoneWithin(limitMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, limitMs), false);
  });
  return await Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}
