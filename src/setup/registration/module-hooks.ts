import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';

/** How modules are hooked: in this thread where Node can, through a loader thread elsewhere. */
export type HookKind = 'synchronous hooks' | 'loader thread';

/** The hook file of the copy of `@opentelemetry/instrumentation` that our instrumentations extend. */
const HOOK = '@opentelemetry/instrumentation/hook.mjs';

/**
 * Files a hook must not touch. The shims of openai 4 read live bindings while they are being written, which a hooked
 * module answers too late: the application would not start ("you must import 'openai/shims/node'").
 */
const EXCLUDED = [/\/openai\/_shims\//, /^openai\/_shims\//];

/**
 * Installs the one ESM hook, resolved from where this package sits: the copy of import-in-the-middle that hooks must
 * be the one our instrumentations talk to, or nothing is patched and nothing says so.
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

/** Only newer copies of import-in-the-middle have them, and only newer Nodes can use them. */
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
