import { buildCatalogue, type Catalogue } from './catalogue.ts';
import { listableTools } from './gate.ts';
import type { Session } from './session.ts';

/** A model is asked with the old tools when a server that announced others does not list them by then. */
const CHANGED_TOOLS_WAIT_MS = 5_000;

/** The catalogue, made anew whenever a server has announced other tools; a change that is being read is waited for. */
export function liveCatalogue(session: Session, changes: () => number): () => Promise<Catalogue> {
  let made: { readonly catalogue: Catalogue; readonly at: number } | undefined;
  return async () => {
    await session.pool.toolsSettled(CHANGED_TOOLS_WAIT_MS);
    const at = changes();
    if (made?.at === at) return made.catalogue;
    const { pool, resolved, provider, emit } = session;
    const tools = await listableTools(resolved.gate, pool.tools);
    const catalogue = buildCatalogue(tools, provider.toolDialect ?? 'openai', resolved.userPrompt);
    for (const { toolName, reason } of catalogue.quarantined) {
      emit({ type: 'tool_quarantined', toolName, reason });
    }
    made = { catalogue, at };
    return catalogue;
  };
}
