#!/usr/bin/env node
import { errorMessage } from '../base/index.ts';
import { EXIT_FAILED } from './command-line/index.ts';
import { runCli } from './run-cli.ts';

// A closed pipe (`| head`) is not an error.
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
