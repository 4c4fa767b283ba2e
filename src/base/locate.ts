import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** A module loaded at run time; its names are checked where they are used. */
export type Loaded = Record<string, never>;
export type Constructor<A extends unknown[], T> = new (...args: A) => T;

/** The command that installs what a program without OpenTelemetry needs to record and send spans. */
export const INSTALL_SDK =
  'npm install @opentelemetry/sdk-trace-node@^2.12.0 @opentelemetry/exporter-trace-otlp-http@^0.223.0';

/** Finds a package from a given file, from this package, or from the application's folder. */
export function locate(name: string, from?: string): string | undefined {
  for (const base of [from, import.meta.url, `${process.cwd()}/`]) {
    if (base === undefined) continue;
    try {
      return createRequire(base).resolve(name);
    } catch {
      // Not visible from there; the next place may see it.
    }
  }
  return undefined;
}

/** Loads a file that `locate` found; a CommonJS module's names may all stand on `default`. */
export async function load(file: string): Promise<Loaded> {
  const module = (await import(pathToFileURL(file).href)) as { default?: Loaded } & Loaded;
  return module.default !== undefined && typeof module.default === 'object' ? module.default : module;
}
