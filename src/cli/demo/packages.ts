/** The packages that only the demo needs, for a program that was started by a bare `npx mcp-observatory demo`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ObservatoryError, packageFile } from '../../base/index.ts';
import type { CommandIo } from '../command-line/index.ts';

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

/** The packages of the demo that are not installed beside this one. */
export function missingPackages(env: CommandIo['env']): readonly string[] {
  const needed = [
    ...ALWAYS,
    env.DATABASE_URL ? 'pg' : '@electric-sql/pglite',
    ...(env.OTEL_EXPORTER_OTLP_ENDPOINT ? ['@opentelemetry/exporter-trace-otlp-http'] : []),
  ];
  return needed.every(isInstalled) ? [] : needed;
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    // A package may be there and not open this file.
    return (error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND';
  }
}

/**
 * Runs the command again with these packages beside it, which npm keeps in the cache of npx: nothing is added to the
 * project.
 * @returns the exit code.
 * @throws ObservatoryError `MISSING_PEER` when npm cannot be run, or has not helped.
 */
export async function runWithPackages(
  packages: readonly string[],
  args: readonly string[],
  { env, stderr }: CommandIo,
): Promise<number> {
  if (env[STARTED_WITH_PACKAGES] !== undefined) throw cannotRun(packages);
  stderr.writeLine(`The demo needs ${packages.join(', ')}: npm fetches them into the cache of npx.`);
  const self = fileURLToPath(packageFile(''));
  const wanted = [self, ...withVersions(packages)].map((spec) => `--package=${spec}`);
  // Copied and not linked: a link would look for the packages where this one is.
  const npmArgs = ['exec', '--yes', '--install-links', ...wanted, '--', 'mcp-observatory', 'demo', ...args];
  const npm = npmOf(env);
  const child = spawn(npm.file, [...npm.args, ...npmArgs], {
    stdio: 'inherit',
    env: { ...env, [STARTED_WITH_PACKAGES]: '1' },
  });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  } catch (cause) {
    throw cannotRun(packages, cause);
  }
}

/** The npm that started this process, else that of the path; a script of the shell needs one only on Windows. */
function npmOf({ npm_execpath: path }: CommandIo['env']): { readonly file: string; readonly args: string[] } {
  if (path !== undefined && /npm-cli\.c?js$/.test(path)) return { file: process.execPath, args: [path] };
  return { file: 'npm', args: [] };
}

/** The versions that this package is tested with. */
function withVersions(packages: readonly string[]): readonly string[] {
  const { devDependencies } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
    readonly devDependencies?: Readonly<Record<string, string>>;
  };
  return packages.map((name) => `${name}@${devDependencies?.[name] ?? 'latest'}`);
}

function cannotRun(packages: readonly string[], cause?: unknown): ObservatoryError {
  return new ObservatoryError(
    'MISSING_PEER',
    `The demo needs packages that are not installed: npm install ${packages.join(' ')}`,
    { cause },
  );
}
