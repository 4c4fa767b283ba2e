/** Cases of `field-mcp.test.ts` that are not right yet, by script and name. */
export const PENDING: ReadonlySet<string> = new Set([
  // Depends on the load of the machine.
  'golden-values big_text',
  // It calls 150 ms after a server has begun to exit: a busy machine has not noticed by then.
  'processes exits_after_list',
]);
