/**
 * `mcp-observatory hook` without the other commands. The package has it as one file with all that a decision needs, also of
 * other packages: an agent waits for it before each of its tools, and most of that time would go into opening files.
 */
import { hookCommand } from './hook/index.ts';
import { runCommands } from './run-program.ts';

export { hookCommand };

export async function runHookProgram(): Promise<void> {
  await runCommands({ hook: { summary: '', load: async () => hookCommand } }, '');
}
