/**
 * `mcp-observatory/next`: two lines for an application of Next.js 15 or newer, which bundles what it imports on the server,
 * model SDKs and MCP SDKs too, so that no hook would reach them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diag } from '@opentelemetry/api';
import { useStderrDiag } from '../base/index.ts';
import { hookedPackages, isDisabled } from './registration/index.ts';

/** The members of Next.js's configuration that are set. Those of JavaScript may have any form. */
interface Config {
  serverExternalPackages?: readonly string[];
  transpilePackages?: readonly string[];
  outputFileTracingIncludes?: Readonly<Record<string, readonly string[] | string>>;
}

/** Packages that are loaded at run time by a name that Next.js does not see, and that are left out of `output: 'standalone'`. */
const LOADED_BY_NAME = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/exporter-metrics-otlp-http',
  'pg',
];
const FILES = '**/*.{js,cjs,mjs,json,sql}';
const MAX_PACKAGES = 200;

/**
 * In `next.config`: `export default withObservatory(config)`. Keeps every SDK that is traced out of Next.js's bundles
 * (`serverExternalPackages`), and what this package loads in `output: 'standalone'` (`outputFileTracingIncludes`).
 *
 * @param config an object, a promise of it, or a function that returns either, as Next.js takes them; it is not changed.
 */
export function withObservatory<C>(config: C): C {
  if (config instanceof Promise) return config.then(withObservatory) as C;
  if (typeof config !== 'function') return extended((config ?? {}) as Config) as C;
  return (async (...args: unknown[]) => extended(((await config(...args)) ?? {}) as Config)) as C;
}

function extended(config: Config): Config {
  const transpiled = new Set(config.transpilePackages);
  const kept = ['mcp-observatory', '@opentelemetry/api', ...hookedPackages()];
  const external = [
    ...(config.serverExternalPackages ?? []),
    ...kept.filter((name) => !transpiled.has(name)),
  ];
  const { '/*': everywhere = [], ...others } = config.outputFileTracingIncludes ?? {};
  return {
    ...config,
    serverExternalPackages: [...new Set(external)],
    outputFileTracingIncludes: { ...others, '/*': [everywhere, filesLoaded(process.cwd())].flat() },
  };
}

/** Patterns, relative to the application, of the packages that are needed when it runs, and those that they need. */
function filesLoaded(application: string): string[] {
  const own = ownFolder();
  const folders = new Set<string>();
  const open: [name: string, from: string][] = [
    ['mcp-observatory', application],
    ...LOADED_BY_NAME.map((name): [string, string] => [name, application]),
  ];
  for (let next = open.pop(); next !== undefined && folders.size < MAX_PACKAGES; next = open.pop()) {
    const folder = next[0] === 'mcp-observatory' ? own : installedFolder(...next);
    if (folder === undefined || folders.has(folder)) continue;
    folders.add(folder);
    const { dependencies } = toManifest(folder);
    for (const name of Object.keys(dependencies ?? {})) open.push([name, folder]);
  }
  return [...folders].map((folder) => {
    const path = relative(application, folder).split(sep).join('/');
    return folder === own ? `${path}/{dist/lib,schema,vocabularies}/${FILES}` : `${path}/${FILES}`;
  });
}

/** The folder of this package, from its entry in `dist/lib`. */
function ownFolder(): string {
  return resolve(dirname(fileURLToPath(import.meta.url)), '../..');
}

function installedFolder(name: string, from: string): string | undefined {
  const paths = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  return paths.map((path) => join(path, name)).find((folder) => existsSync(join(folder, 'package.json')));
}

function toManifest(folder: string): { readonly dependencies?: Readonly<Record<string, string>> } {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as never;
  } catch {
    return {};
  }
}

/**
 * The whole of `instrumentation.ts`: `export { register } from 'mcp-observatory/next'`. Does what
 * `node --import mcp-observatory/register` does, before Next.js loads the application. Never throws.
 */
export async function register(): Promise<void> {
  if (process.env.NEXT_PHASE === 'phase-production-build') return;
  if (isBundled()) {
    useStderrDiag(process.env.OTEL_LOG_LEVEL);
    diag.warn(
      'mcp-observatory: bundled by Next.js, so nothing is traced. Write in next.config: export default withObservatory(config), imported from mcp-observatory/next',
    );
    return;
  }
  if (isDisabled(process.env)) return;
  const { registerNow } = await import('./registering.ts');
  await registerNow(true);
}

/** Whether this code runs from a file that a bundler has made. */
function isBundled(): boolean {
  const [, frame = ''] = new Error().stack?.split('\n') ?? [];
  return !/[\\/]dist[\\/]lib[\\/]/.test(frame);
}
