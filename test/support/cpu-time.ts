/**
 * Milliseconds of processor time that `run` takes. Unlike the clock it does not count what other processes do meanwhile,
 * so that a bound on it holds on a busy machine too.
 */
export function cpuMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
