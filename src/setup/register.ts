/**
 * `node --import mcp-observatory/register app.js`: hooks every MCP and model SDK the application loads, ES module or
 * CommonJS, and starts an OpenTelemetry SDK where the application has none. It is configured by the standard
 * `OTEL_*` variables and by `MCP_OBSERVATORY_DATABASE_URL`, and never writes to stdout.
 *
 * The only module of the package with a top-level await; `--require` loads `register-required.ts` instead. Where
 * `OTEL_SDK_DISABLED=true`, or in a version of Node that is too old, nothing else is loaded.
 */
import { importProblem, nodeProblem } from '../base/index.ts';
import { isDisabled } from './registration/index.ts';

const problem = nodeProblem();
if (problem !== undefined) {
  process.stderr.write(`${problem}; nothing is traced\n`);
} else if (!isDisabled(process.env)) {
  // An application must start even if its telemetry cannot.
  await import('./registering.ts').then(
    ({ registerNow }) => registerNow(),
    (error: unknown) => process.stderr.write(`${importProblem(error)}; nothing is traced\n`),
  );
} else if (process.env.OTEL_LOG_LEVEL) {
  const { reportDisabled } = await import('./registering.ts');
  reportDisabled();
}
