import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** A module loaded at run time; its names are checked where they are used. */
export type Loaded = Record<string, never>;
export type Constructor<A extends unknown[], T> = new (...args: A) => T;

/** Install command for a program that has no OpenTelemetry SDK yet. */
export const INSTALL_SDK =
  'npm install @opentelemetry/sdk-trace-node@^2.12.0 @opentelemetry/exporter-trace-otlp-http@^0.223.0';

/** Finds a package from a given file, from this package, or from the application's folder. */
export function locate(name: string, from?: string): string | undefined {
  for (const base of [from, import.meta.url, `${process.cwd()}/`]) {
    if (base === undefined) continue;
    try {
      return createRequire(base).resolve(name);
    } catch {
      // Not resolvable from there; try the next place.
    }
  }
  return undefined;
}

/** Loads a file found by `locate`. The exports of a CommonJS module may all be on `default`. */
export async function load(file: string): Promise<Loaded> {
  const module = (await import(pathToFileURL(file).href)) as { default?: Loaded } & Loaded;
  return module.default !== undefined && typeof module.default === 'object' ? module.default : module;
}
