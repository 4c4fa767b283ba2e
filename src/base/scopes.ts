/** Instrumentation scopes of this package. */

/** Of the spans and metrics of MCP messages. */
export const MCP_SCOPE = 'mcp-observatory/mcp';

const OWN = 'mcp-observatory/';

/** Whether spans of this scope are of this package. */
export const isOwnScope = (scope: string | undefined): boolean => scope?.startsWith(OWN) === true;
