/**
 * CPU time that `run` takes, in milliseconds. Unlike wall time it does not include other processes, so a limit on it
 * holds on a busy machine too.
 */
export function cpuMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
