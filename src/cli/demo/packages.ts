/** The packages that only the demo needs, for a program that was started by a bare `npx mcp-observatory demo`. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ObservatoryError, packageFile, VERSION } from '../../base/index.ts';
import { type CommandIo, fetchedFolder, isInstalled } from '../command-line/index.ts';

const PROGRAM = 'dist/lib/cli.js';
const ALWAYS = [
  '@modelcontextprotocol/sdk',
  '@modelcontextprotocol/server-filesystem',
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace-node',
  'openai',
  'zod',
] as const;

/** Set for the second process, which must not start a third. */
const STARTED_WITH_PACKAGES = 'MCP_OBSERVATORY_DEMO_PACKAGES';

/** The packages of the demo, if any of them is not installed beside this one. */
export function missingPackages(env: CommandIo['env']): readonly string[] {
  const needed = [
    ...ALWAYS,
    env.DATABASE_URL ? 'pg' : '@electric-sql/pglite',
    ...(env.OTEL_EXPORTER_OTLP_ENDPOINT ? ['@opentelemetry/exporter-trace-otlp-http'] : []),
  ];
  return needed.every(isInstalled) ? [] : needed;
}

/**
 * Runs the command again by a copy of this package that has these packages beside it, in the user's cache.
 * @returns the exit code.
 * @throws ObservatoryError `MISSING_PEER` when npm cannot fetch them.
 */
export async function runWithPackages(
  packages: readonly string[],
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  if (io.env[STARTED_WITH_PACKAGES] !== undefined) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `The demo needs packages that are not installed: npm install ${packages.join(' ')}`,
    );
  }
  const self = fileURLToPath(packageFile(''));
  // Names of chunks have hashes of what is in them, so this file tells builds of one version apart.
  const build = createHash('sha256').update(readFileSync(packageFile(PROGRAM)));
  const name = `demo-${VERSION}-${build.update(packages.join()).digest('hex').slice(0, 12)}`;
  const folder = await fetchedFolder(name, [self, ...packages], io);
  const program = join(folder, 'node_modules/mcp-observatory', PROGRAM);
  const child = spawn(process.execPath, [program, 'demo', ...args], {
    stdio: 'inherit',
    env: { ...io.env, [STARTED_WITH_PACKAGES]: '1' },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
