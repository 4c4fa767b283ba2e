#!/usr/bin/env node
import { errorMessage } from '../base/index.ts';
import { EXIT_FAILED } from './command.ts';
import { runCli } from './run-cli.ts';

// A reader that has seen enough (`| head`) closes the pipe; that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

runCli(process.argv.slice(2), process).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`mcp-observatory: ${errorMessage(error)}\n`);
    process.exitCode = EXIT_FAILED;
  },
);
