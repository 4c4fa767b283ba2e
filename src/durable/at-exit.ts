import { warnAtOnce } from '../base/index.ts';

const open = new Set<() => void>();

/**
 * Has something done when the process ends, at once.
 * @returns a function that takes it back.
 */
export function atExit(work: () => void): () => void {
  // One listener for all, because Node warns of many.
  if (open.size === 0) process.on('exit', endAll);
  open.add(work);
  return () => {
    open.delete(work);
    if (open.size === 0) process.removeListener('exit', endAll);
  };
}

function endAll(): void {
  warnAtOnce();
  for (const work of open) work();
}
