/**
 * Gathers the warnings of this process about forgotten listeners until it is asked for them. Other warnings belong to
 * whichever file of the same process caused them.
 */
export function collectListenerWarnings(): () => Promise<readonly string[]> {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => {
    if (warning.name === 'MaxListenersExceededWarning') warnings.push(warning.message);
  };
  process.on('warning', onWarning);
  return async () => {
    await new Promise((done) => setImmediate(done));
    process.off('warning', onWarning);
    return warnings;
  };
}
