/** The tools of an example server, for one kind of document: search, fetch, and a dangerous one. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

export interface Shelf {
  /** Id of the server in a policy, e.g. `mcp-sharepoint`. */
  readonly server: string;
  /** Property that identifies a document, e.g. `doc_id`. */
  readonly idName: string;
  readonly names: { readonly search: string; readonly fetch: string; readonly remove: string };
  readonly noun: string;
  readonly documents: readonly (Readonly<Record<string, string>> & {
    readonly title: string;
    readonly content: string;
  })[];
}

/** Makes the server of a shelf. `onRemove` is called for every document that was deleted. */
export function createServer(shelf: Shelf, onRemove: (id: string) => void = () => {}): McpServer {
  const { idName, names, noun } = shelf;
  const documents = new Map(shelf.documents.map((document) => [document[idName] ?? '', document]));
  const server = new McpServer({ name: shelf.server, version: '1.0.0' });
  const id = { [idName]: z.string().describe(`Id of the ${noun}`) };
  const reply = (structuredContent: Record<string, unknown>) => ({
    structuredContent,
    content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }],
  });

  server.registerTool(
    names.search,
    {
      description: `Search ${noun}s by words of their title and text.`,
      inputSchema: { query: z.string().min(1), top_k: z.number().int().min(1).max(20).default(5) },
      outputSchema: {
        query: z.string(),
        results: z.array(z.object({ ...id, title: z.string(), snippet: z.string() })),
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ query, top_k }) => {
      const wanted = query.toLowerCase();
      const hits = [...documents].filter(([, { title, content }]) =>
        `${title} ${content}`.toLowerCase().includes(wanted),
      );
      const results = hits
        .slice(0, top_k)
        .map(([key, { title, content }]) => ({ [idName]: key, title, snippet: content.slice(0, 80) }));
      return reply({ query, results });
    },
  );

  server.registerTool(
    names.fetch,
    {
      description: `Fetch one ${noun} by its id. The content is NOT_FOUND when there is none.`,
      inputSchema: id,
      outputSchema: { ...id, content: z.string() },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    (args) => {
      const key = String(args[idName]);
      return reply({ [idName]: key, content: documents.get(key)?.content ?? 'NOT_FOUND' });
    },
  );

  server.registerTool(
    names.remove,
    {
      description: `[SIDE EFFECT] Delete one ${noun} by its id. It cannot be undone.`,
      inputSchema: id,
      outputSchema: { ...id, status: z.string() },
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
    },
    (args) => {
      const key = String(args[idName]);
      const isRemoved = documents.delete(key);
      if (isRemoved) onRemove(key);
      return reply({ [idName]: key, status: isRemoved ? 'DELETED' : 'NOT_FOUND' });
    },
  );
  return server;
}
