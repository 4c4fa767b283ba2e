import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { diag } from '@opentelemetry/api';
import {
  ANTHROPIC_VERSIONS,
  BEDROCK_VERSIONS,
  FRAMEWORK_VERSIONS,
  GOOGLE_GENAI_VERSIONS,
  hookedModules,
  OPENAI_VERSIONS,
} from '../../instrumentation/index.ts';
import { hasNoHooks } from './patch-installed.ts';
import { isPreloaded } from './preloads.ts';

/** The packages our instrumentations hook, with their versions. */
export const SUPPORTED: readonly (readonly [string, string])[] = [
  ['openai', OPENAI_VERSIONS],
  ['@anthropic-ai/sdk', ANTHROPIC_VERSIONS],
  ['@google/genai', GOOGLE_GENAI_VERSIONS],
  ['@aws-sdk/client-bedrock-runtime', BEDROCK_VERSIONS],
  ['@modelcontextprotocol/sdk', '>=1.9.0 <2'],
  ['@modelcontextprotocol/client', '>=2 <3'],
  ['@modelcontextprotocol/server', '>=2 <3'],
];

/** Names of the packages that must not be bundled, since a hook sees them when they are loaded. */
export function hookedPackages(): string[] {
  return [...SUPPORTED, ...FRAMEWORK_VERSIONS].map(([name]) => name);
}

/** Packages required before our hooks were installed. */
function loadedTooEarly(): string[] {
  const files = Object.keys(createRequire(import.meta.url).cache);
  const names = SUPPORTED.map(([name]) => name);
  return names.filter((name) => {
    const folder = `${sep}${join('node_modules', name)}${sep}`;
    return files.some((file) => file.includes(folder));
  });
}

/**
 * Warns through `diag` about obstacles to hooking, before the application starts.
 * @param isFirst whether the host, such as Next.js, calls us before it loads the application.
 */
export function warnOfObstacles(isFirst: boolean): void {
  if (!isFirst && !hasNoHooks && !isPreloaded()) {
    diag.warn(
      'mcp-observatory: mcp-observatory/register was loaded by the program itself: what it imports statically was resolved before and is not traced. Write: node --import mcp-observatory/register app.js, or load the rest by await import() after it, or use instrumentMcpServer(), instrumentMcpClient() and manuallyInstrument()',
    );
    return;
  }
  for (const name of loadedTooEarly()) {
    diag.warn(
      `mcp-observatory: ${name} was loaded before the hooks: what was loaded then is not traced. Put --import mcp-observatory/register first, or hand it to manuallyInstrument()`,
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
