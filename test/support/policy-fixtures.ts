import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyGate, type ToolDefinition, type ToolsByServer } from '../../src/policy/index.ts';
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

/** Whether a policy with `urlHostIn: hosts` lets a tool be called with a URL. */
export function urlGate(hosts: readonly string[]): (url: unknown) => boolean {
  const args = { url: { urlHostIn: hosts } };
  const gate = new PolicyGate({
    policy: {
      version: 1,
      rules: [{ id: 'fetch', effect: 'allow', server: 'web', tool: 'fetch', args, required: ['url'] }],
    },
    tools: {
      web: { tools: [{ name: 'fetch', inputSchema: { type: 'object', properties: { url: {} } } }] },
    },
  });
  return (url) => gate.evaluate({ server: 'web', tool: 'fetch', args: { url } }).decision === 'allow';
}
