/**
 * Why this Node.js cannot run the package, if it cannot. Imports nothing: imports are resolved before a module runs,
 * and older versions lack names that ours use.
 */
export function nodeProblem(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `mcp-observatory needs Node 20.19 or newer; this is Node ${version}`;
}
