/**
 * `node --import mcp-observatory/register app.js`: hooks every MCP and model SDK the application loads, ES module or
 * CommonJS, and starts an OpenTelemetry SDK where the application has none. It is configured by the standard
 * `OTEL_*` variables and by `MCP_OBSERVATORY_DATABASE_URL`, and never writes to stdout.
 *
 * The only module of the package with a top-level await: it is for `--import`, not for `require()`. Where
 * `OTEL_SDK_DISABLED=true`, nothing else is loaded.
 */
import { isDisabled } from './registration/index.ts';

if (!isDisabled(process.env)) {
  const { registerNow } = await import('./registering.ts');
  await registerNow();
} else if (process.env.OTEL_LOG_LEVEL) {
  const { reportDisabled } = await import('./registering.ts');
  reportDisabled();
}
