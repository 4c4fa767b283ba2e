import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { diag } from '@opentelemetry/api';
import { hookedModules } from '../../instrumentation/index.ts';

/** The packages our instrumentations hook. */
export const HOOKED_PACKAGES = [
  'openai',
  '@anthropic-ai/sdk',
  '@google/genai',
  '@modelcontextprotocol/sdk',
  '@modelcontextprotocol/client',
  '@modelcontextprotocol/server',
] as const;

/** Packages required before our hooks were installed. */
export function loadedTooEarly(): string[] {
  const files = Object.keys(createRequire(import.meta.url).cache);
  return HOOKED_PACKAGES.filter((name) => {
    const folder = `${sep}${join('node_modules', name)}${sep}`;
    return files.some((file) => file.includes(folder));
  });
}

/**
 * Copies of import-in-the-middle in play, by file: ours, and the one the application's own instrumentation would use.
 * If they differ, only the one that registers first patches ES modules.
 */
export function hookCopies(applicationFolder: string): string[] {
  const copies = new Set<string>();
  for (const from of [import.meta.url, join(applicationFolder, 'package.json')]) {
    const base = resolveFrom(from, '@opentelemetry/instrumentation') ?? from;
    const copy = resolveFrom(base, 'import-in-the-middle');
    if (copy !== undefined) copies.add(copy);
  }
  return [...copies];
}

function resolveFrom(from: string, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

/** Warns through `diag` about obstacles to hooking, before the application starts. */
export function warnOfObstacles(applicationFolder: string): void {
  for (const name of loadedTooEarly()) {
    diag.warn(
      `mcp-observatory: ${name} was loaded before the hooks: what was loaded then is not traced. Put --import mcp-observatory/register first, or hand it to manuallyInstrument()`,
    );
  }
  const copies = hookCopies(applicationFolder);
  if (copies.length > 1) {
    diag.warn(
      `mcp-observatory: ${copies.length} copies of import-in-the-middle are installed (${copies.join(', ')}); only the first to register hooks ES modules. Run npm dedupe import-in-the-middle`,
    );
  }
}

/** Logs through `diag` at exit which packages were hooked, and which methods their versions lack. */
export function reportHooks(): void {
  const modules = hookedModules();
  if (modules.length === 0) {
    diag.info(
      'mcp-observatory: no model SDK was hooked. A bundled application hands its SDKs to manuallyInstrument(); see mcp-observatory doctor',
    );
  }
  for (const { name, version, patched, missing } of modules) {
    diag.info(`mcp-observatory: hooked ${name} ${version ?? ''}: ${patched.join(', ')}`);
    if (missing.length > 0)
      diag.warn(`mcp-observatory: ${name} ${version ?? ''} has no ${missing.join(', ')}`);
  }
}
