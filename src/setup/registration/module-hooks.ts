import { createRequire, register } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { diag } from '@opentelemetry/api';
import { withStdoutUnused } from '../../base/index.ts';
import { shareHooks } from './other-hooks.ts';
import { preloads } from './preloads.ts';

/** The hook file of the copy of `@opentelemetry/instrumentation` that our instrumentations extend. */
const HOOK = '@opentelemetry/instrumentation/hook.mjs';

/**
 * Files that must not be hooked. The shims of openai 4 read live bindings during their initialization, which breaks in
 * a hooked module: the application would not start ("you must import 'openai/shims/node'").
 */
const EXCLUDED = [/\/openai\/_shims\//, /^openai\/_shims\//];

interface ImportInTheMiddle {
  readonly Hook: new (files: readonly string[], onLoad: (exports: object) => void) => { unhook(): void };
}

/** Calls `onLoad` with the exports of these files, which it may set, when one is imported. */
export function onImport(files: readonly string[], onLoad: (exports: object) => void): void {
  const require = createRequire(import.meta.url);
  const ours = createRequire(require.resolve('@opentelemetry/instrumentation'));
  const { Hook } = ours('import-in-the-middle') as ImportInTheMiddle;
  new Hook(files, onLoad);
}

/**
 * Installs the ESM hook, in this thread where Node supports it, else through a loader thread. It is resolved from this
 * package: the hooking copy of import-in-the-middle must be the one used by our instrumentations.
 */
export async function installModuleHooks(): Promise<void> {
  const require = createRequire(import.meta.url);
  const ours = createRequire(require.resolve('@opentelemetry/instrumentation'));
  const synchronous = await synchronousHooks(ours);
  if (synchronous?.supportsSyncHooks() === true) synchronous.register({ exclude: EXCLUDED });
  else withStdoutUnused(() => register(besideOthers(require), { data: { exclude: EXCLUDED } }));
  const file = ours.resolve('import-in-the-middle');
  shareHooks(file);
  // Where nothing but us is loaded before the application, no other loader can be in the way.
  if (preloads().length === 1 || (await isCalled(ours(file) as ImportInTheMiddle))) return;
  diag.warn(
    'mcp-observatory: another module loader keeps ES modules from being hooked; only CommonJS is traced. Put --import mcp-observatory/register last, or hand SDKs to manuallyInstrument()',
  );
}

/**
 * The hook for a loader thread where the application may have registered the same: it works twice, but would print a
 * warning, at whichever comes second.
 */
function besideOthers(require: NodeJS.Require): string {
  const hook = pathToFileURL(require.resolve(HOOK)).href;
  const source = `import { initialize as begin, load, resolve } from ${JSON.stringify(hook)};
const MARK = '__import_in_the_middle_initialized__';
export async function initialize(data) {
  const was = globalThis[MARK];
  globalThis[MARK] = undefined;
  await begin(data);
  globalThis[MARK] = was;
}
export { load, resolve };`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** Whether a hook is called for a module that is imported now. */
async function isCalled({ Hook }: ImportInTheMiddle): Promise<boolean> {
  let called = false;
  const probe = new URL('./hook-probe.js', import.meta.url);
  const hook = new Hook([fileURLToPath(probe)], () => {
    called = true;
  });
  await import(probe.href);
  hook.unhook();
  return called;
}

interface SynchronousHooks {
  register(options: { exclude: readonly RegExp[] }): void;
  supportsSyncHooks(): boolean;
}

/** Present in newer versions of import-in-the-middle, usable in newer versions of Node. */
async function synchronousHooks(ours: NodeJS.Require): Promise<SynchronousHooks | undefined> {
  try {
    const file = ours.resolve('import-in-the-middle/register-hooks.mjs');
    const hooks = (await import(pathToFileURL(file).href)) as Partial<SynchronousHooks>;
    return typeof hooks.register === 'function' && typeof hooks.supportsSyncHooks === 'function'
      ? (hooks as SynchronousHooks)
      : undefined;
  } catch {
    return undefined;
  }
}
