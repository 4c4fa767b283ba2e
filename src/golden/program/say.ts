import { printable } from '../../base/index.ts';

/** Tells the person who runs the program; its stdout is its own. */
export function say(text: string): void {
  process.stderr.write(`mcp-observatory: ${printable(text)}\n`);
}
