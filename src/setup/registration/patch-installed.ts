import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { diag } from '@opentelemetry/api';
import type { Instrumentation, InstrumentationModuleDefinition } from '@opentelemetry/instrumentation';
import { inRange, installedPackage } from './installed.ts';

const { bun, deno } = process.versions;
/** Whether modules cannot be hooked as they load: Bun has no hooks, and hooked Deno reads JSON as a program. */
export const hasNoHooks: boolean = bun !== undefined || deno !== undefined;

/**
 * Imports the packages that the application of this folder has installed, as its own imports would, and patches them
 * before it starts.
 */
export async function patchInstalled(
  instrumentations: readonly Instrumentation[],
  folder: string,
): Promise<void> {
  for (const instrumentation of instrumentations) {
    const definitions = Reflect.get(instrumentation, '_modules') as InstrumentationModuleDefinition[];
    for (const definition of definitions) {
      try {
        await patch(definition, folder);
      } catch (error) {
        diag.warn(`mcp-observatory: ${definition.name} cannot be traced here`, error);
      }
    }
  }
}

async function patch(definition: InstrumentationModuleDefinition, folder: string): Promise<void> {
  const { name, supportedVersions } = definition;
  const found = await installedPackage(folder, name);
  if (found === undefined || !supportedVersions.some((range) => inRange(found.version, range))) return;
  const { version } = found;
  if (definition.patch !== undefined) definition.patch(await import(resolved(name, folder)), version);
  for (const file of definition.files) {
    const path = join(found.folder, file.name.slice(name.length));
    if (!path.endsWith('.mjs') && !path.includes('/esm/')) continue;
    if (existsSync(path)) file.patch(await import(pathToFileURL(path).href), version);
  }
}

function resolved(name: string, folder: string): string {
  const { Bun } = globalThis as { Bun?: { resolveSync(name: string, from: string): string } };
  // In Deno a name is looked up from this package, which is in the folder of the application.
  return Bun === undefined ? name : Bun.resolveSync(name, folder);
}
