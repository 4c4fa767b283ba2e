/** The packages that only the demo needs, for a program that was started by a bare `npx mcp-observatory demo`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ObservatoryError } from '../../base/index.ts';
import { type CommandIo, FETCHED_SETS, fetchedFolder, isInstalled } from '../command-line/index.ts';

const PROGRAM = 'dist/lib/cli.js';
/** Needed only where spans are sent. */
const EXPORTER = '@opentelemetry/exporter-trace-otlp-http';

/** Set for the second process, which must not start a third. */
const STARTED_WITH_PACKAGES = 'MCP_OBSERVATORY_DEMO_PACKAGES';

/** Whether packages that only the demo needs are not installed beside this one. */
export function arePackagesMissing(env: CommandIo['env']): boolean {
  return FETCHED_SETS.demo
    .filter((name) => name !== EXPORTER || env.OTEL_EXPORTER_OTLP_ENDPOINT)
    .some((name) => !isInstalled(name));
}

/**
 * Runs the command again by a copy of this package that has these packages beside it, in the user's cache.
 * @returns the exit code.
 * @throws ObservatoryError `MISSING_PEER` when npm cannot fetch them.
 */
export async function runWithPackages(args: readonly string[], io: CommandIo): Promise<number> {
  if (io.env[STARTED_WITH_PACKAGES] !== undefined) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `The demo needs packages that are not installed: npm install ${FETCHED_SETS.demo.join(' ')}`,
    );
  }
  const folder = await fetchedFolder('demo', io, true);
  const program = join(folder, 'node_modules/mcp-observatory', PROGRAM);
  const child = spawn(process.execPath, [program, 'demo', ...args], {
    stdio: 'inherit',
    env: { ...io.env, [STARTED_WITH_PACKAGES]: '1' },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
