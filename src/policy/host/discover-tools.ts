import type { CatalogueTool } from '../catalogue.ts';
import type { PolicyGate } from '../gate.ts';
import type { PolicyServer } from './server.ts';

/**
 * Lists every server live, all at once, and tells the gate. A server that does not answer has no tools; the others go on.
 *
 * @param onFailed told of each server that could not be listed.
 * @returns the allowed tools, in the order of the servers, whichever answered first: the planner is asked in the same
 * words every time.
 */
export async function discoverTools(
  gate: PolicyGate,
  servers: Iterable<readonly [id: string, server: PolicyServer]>,
  onFailed: (id: string, error: unknown) => void = () => {},
): Promise<readonly CatalogueTool[]> {
  const ids = [...servers].map(([id, server]) => ({ id, listing: server.listTools() }));
  const listings = await Promise.allSettled(ids.map(({ listing }) => listing));
  for (const [index, listing] of listings.entries()) {
    const id = ids[index]?.id ?? '';
    if (listing.status === 'fulfilled') {
      gate.setTools(id, listing.value);
    } else {
      gate.removeServer(id);
      onFailed(id, listing.reason);
    }
  }
  return ids.flatMap(({ id }) => gate.allowedTools(id));
}
