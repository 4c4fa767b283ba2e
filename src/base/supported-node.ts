/**
 * Why this Node.js cannot run the package, if it cannot. Imports nothing: imports are resolved before a module runs,
 * and older versions lack names that ours use.
 */
export function nodeProblem(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `mcp-observatory needs Node 20.19 or newer; this is Node ${version}`;
}

/** The API of SDK 2: with `^1.9` pnpm takes 1.10, which that does not go with. */
export const API_OF_SDK_2 = '@opentelemetry/api@~1.9.0';

/** Why the rest of the package could not be imported. Plug'n'Play lends no package that the application does not name. */
export function importProblem(error: unknown): string {
  const [line = ''] = String(error).split('\n');
  return line.includes('@opentelemetry/api')
    ? `mcp-observatory needs ${API_OF_SDK_2}, which this application has not: add it to its dependencies`
    : `mcp-observatory could not be loaded: ${line}`;
}
