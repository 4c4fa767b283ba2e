/** Whether a result is an MCP `CallToolResult` that reports failure. */
export function isToolError(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'isError' in result && result.isError === true;
}
