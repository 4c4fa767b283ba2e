import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';

/** How modules are hooked: in this thread where Node supports it, else through a loader thread. */
export type HookKind = 'synchronous hooks' | 'loader thread';

/** The hook file of the copy of `@opentelemetry/instrumentation` that our instrumentations extend. */
const HOOK = '@opentelemetry/instrumentation/hook.mjs';

/**
 * Files that must not be hooked. The shims of openai 4 read live bindings during their initialization, which breaks in
 * a hooked module: the application would not start ("you must import 'openai/shims/node'").
 */
const EXCLUDED = [/\/openai\/_shims\//, /^openai\/_shims\//];

/**
 * Installs the ESM hook, resolved from this package: the hooking copy of import-in-the-middle must be the one used by
 * our instrumentations, or nothing is patched, silently.
 */
export async function installModuleHooks(): Promise<HookKind> {
  const synchronous = await synchronousHooks();
  if (synchronous?.supportsSyncHooks() === true) {
    synchronous.register({ exclude: EXCLUDED });
    return 'synchronous hooks';
  }
  register(HOOK, import.meta.url, { data: { exclude: EXCLUDED } });
  return 'loader thread';
}

interface SynchronousHooks {
  register(options: { exclude: readonly RegExp[] }): void;
  supportsSyncHooks(): boolean;
}

/** Present in newer versions of import-in-the-middle, usable in newer versions of Node. */
async function synchronousHooks(): Promise<SynchronousHooks | undefined> {
  try {
    const require = createRequire(import.meta.url);
    const fromInstrumentation = createRequire(require.resolve('@opentelemetry/instrumentation'));
    const file = fromInstrumentation.resolve('import-in-the-middle/register-hooks.mjs');
    const hooks = (await import(pathToFileURL(file).href)) as Partial<SynchronousHooks>;
    return typeof hooks.register === 'function' && typeof hooks.supportsSyncHooks === 'function'
      ? (hooks as SynchronousHooks)
      : undefined;
  } catch {
    return undefined;
  }
}
