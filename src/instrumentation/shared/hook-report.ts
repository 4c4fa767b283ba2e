/** One SDK copy that was patched, or that could not be. */
export interface HookedModule {
  readonly name: string;
  readonly version: string | undefined;
  /** Methods now observed, e.g. `Chat.Completions.create`. */
  readonly patched: readonly string[];
  /** Methods this version does not have, or has in another shape. */
  readonly missing: readonly string[];
}

const hooked: HookedModule[] = [];

/** A module that is met again, with nothing left to patch, is no news. */
export function reportHooked(module: HookedModule): void {
  if (module.patched.length === 0 && module.missing.length === 0) return;
  hooked.push(module);
}

/** The modules hooked in this process so far, in order. */
export function hookedModules(): readonly HookedModule[] {
  return [...hooked];
}
