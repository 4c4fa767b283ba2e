/** What an error says, for a line of the log. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
