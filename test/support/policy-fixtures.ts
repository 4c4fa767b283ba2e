import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolDefinition, ToolsByServer } from '../../src/policy/index.ts';
import { tempDir } from './temp-dir.ts';

/** A tool that takes one text argument and gives a document back. */
export function docTool(name: string, idName = 'doc_id'): ToolDefinition {
  return {
    name,
    description: `${name} by id`,
    inputSchema: { type: 'object', properties: { [idName]: { type: 'string' } }, required: [idName] },
    outputSchema: {
      type: 'object',
      properties: { [idName]: { type: 'string' }, content: { type: 'string' } },
      required: [idName, 'content'],
    },
  };
}

/** The seed's servers, as far as the gates need them. */
export const SEED_TOOLS: ToolsByServer = {
  'mcp-sharepoint': { tools: [docTool('fetch_sharepoint_doc'), docTool('delete_sharepoint_doc')] },
  'mcp-policy-kb': { tools: [docTool('fetch_policy_entry', 'policy_id')] },
};

export const SEED_ALLOWLIST = {
  'mcp-sharepoint': ['fetch_sharepoint_doc'],
  'mcp-policy-kb': ['fetch_policy_entry'],
};

/** Writes a file into a new directory. @returns its path */
export function tempFile(name: string, content: unknown): string {
  const path = join(tempDir(), name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
