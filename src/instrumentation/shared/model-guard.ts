import { Guard } from './guard.ts';

/** The guard of everything that observes calls to models; its faults are those of this package, never the SDK's. */
export const modelGuard: Guard = new Guard('mcp-observatory.models');

/** Runs one step of our own; `undefined` means that it failed and the call goes on without it. */
export function guard<T>(point: string, work: () => T): T | undefined {
  return modelGuard.run(point, work);
}
