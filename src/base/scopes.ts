/** Instrumentation scopes of this package. */

/** Of the spans and metrics of MCP messages. */
export const MCP_SCOPE = 'mcp-observatory/mcp';

const PACKAGE = 'mcp-observatory';
const OWN = `${PACKAGE}/`;

/** Whether spans of this scope are of an instrumentation of this package. */
export const isOwnScope = (scope: string | undefined): boolean => scope?.startsWith(OWN) === true;

/** Whether they are of this package at all: of an instrumentation, the orchestrator, or a call recorded by hand. */
export const isPackageScope = (scope: string): boolean => scope === PACKAGE || isOwnScope(scope);
