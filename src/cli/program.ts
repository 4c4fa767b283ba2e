import { errorMessage, printableLine } from '../base/index.ts';
import { EXIT_FAILED } from './command-line/index.ts';
import { runCli } from './run-cli.ts';

/** Runs the command line of this process and sets its exit code. */
export async function runProgram(): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A closed pipe (`| head`) is not an error.
    if (error.code === 'EPIPE') process.exit();
    fail(`The output cannot be written: ${error.message}`);
  });
  // There is nowhere to report that stderr fails.
  process.stderr.on('error', () => {});
  // Node would print the error as it is, with all that a server may have put in its message.
  process.on('uncaughtException', (error) => fail(errorMessage(error)));
  process.exitCode = await runCli(process.argv.slice(2), process);
}

function fail(message: string): never {
  process.stderr.write(`mcp-observatory: ${printableLine(message)}\n`);
  process.exit(EXIT_FAILED);
}
