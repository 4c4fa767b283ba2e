/** The environment of the offline evaluation: tools, an allowlist, and hand-written oracles. */
import type { ToolDefinition, ToolsByServer } from '../../policy/index.ts';

const object = (properties: object, required: readonly string[], rest: object = {}): object => ({
  type: 'object',
  properties,
  required,
  ...rest,
});

const text = { type: 'string' };

function documentTool(name: string, idName: string, description: string): ToolDefinition {
  return {
    name,
    description,
    inputSchema: object({ [idName]: text }, [idName]),
    outputSchema: object({ [idName]: text, content: text }, [idName, 'content']),
  };
}

export const EVAL_TOOLS: ToolsByServer = {
  'mcp-sharepoint': {
    tools: [
      documentTool('fetch_sharepoint_doc', 'doc_id', 'Fetch a SharePoint doc by id'),
      documentTool('delete_sharepoint_doc', 'doc_id', '[SIDE_EFFECT] Delete a SharePoint doc (DANGEROUS)'),
      {
        name: 'search_sharepoint',
        description: 'Search documents',
        inputSchema: object(
          {
            query: { type: 'string', minLength: 1, maxLength: 200 },
            top_k: { type: 'integer', minimum: 1, maximum: 50 },
            mode: { enum: ['title', 'full'] },
            tags: {
              type: 'array',
              items: { type: 'string', pattern: '^[a-z]+$' },
              maxItems: 3,
              uniqueItems: true,
            },
          },
          ['query'],
          { additionalProperties: false },
        ),
      },
    ],
  },
  'mcp-policy-kb': {
    tools: [
      documentTool('fetch_policy_entry', 'policy_id', 'Fetch a policy entry by id'),
      documentTool('delete_policy_entry', 'policy_id', '[SIDE_EFFECT] Delete a policy entry'),
    ],
  },
};

export const EVAL_ALLOWLIST: Readonly<Record<string, readonly string[]>> = {
  'mcp-sharepoint': ['fetch_sharepoint_doc', 'search_sharepoint'],
  'mcp-policy-kb': ['fetch_policy_entry'],
};

type Args = Readonly<Record<string, unknown>>;

const hasOnly = (args: Args, names: readonly string[]): boolean =>
  Object.getOwnPropertyNames(args).every((name) => names.includes(name));

/**
 * What may reach a server, written by hand from the schemas above. It shares no code with the gate, so that it detects
 * errors of the gate's validation.
 */
export const ORACLES: Readonly<Record<string, (args: Args) => boolean>> = {
  'mcp-sharepoint/fetch_sharepoint_doc': (args) =>
    hasOnly(args, ['doc_id']) && typeof args.doc_id === 'string',
  'mcp-policy-kb/fetch_policy_entry': (args) =>
    hasOnly(args, ['policy_id']) && typeof args.policy_id === 'string',
  'mcp-sharepoint/search_sharepoint': (args) => {
    const { query, top_k: topK, mode, tags } = args;
    if (!hasOnly(args, ['query', 'top_k', 'mode', 'tags'])) return false;
    if (typeof query !== 'string' || query === '' || [...query].length > 200) return false;
    if (topK !== undefined && !(Number.isInteger(topK) && (topK as number) >= 1 && (topK as number) <= 50))
      return false;
    if (mode !== undefined && mode !== 'title' && mode !== 'full') return false;
    if (tags === undefined) return true;
    if (!Array.isArray(tags) || tags.length > 3 || new Set(tags).size !== tags.length) return false;
    return tags.every((tag) => typeof tag === 'string' && /^[a-z]+$/.test(tag));
  },
};
