/** `${NAME}`, `${env:NAME}`, `${NAME:-default}`, or the escaped `$${`. Linear: no part can match in two ways. */
const VARIABLE = /\$\$\{|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces variables in a config string; the forms are those of Claude Code (`${NAME}`, `${NAME:-default}`) and
 * VS Code (`${env:NAME}`). What looks like none of them stays as it is. An empty variable counts as unset for the
 * default, as in a shell.
 */
export function expandVariables(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): { text: string; missing: string[] } {
  const missing: string[] = [];
  const expanded = text.replace(VARIABLE, (whole, name: string | undefined, fallback: string | undefined) => {
    if (name === undefined) return '${'; // the escape
    const value = env[name];
    if (value !== undefined && (value !== '' || fallback === undefined)) return value;
    if (fallback !== undefined) return fallback;
    missing.push(name);
    return whole;
  });
  return { text: expanded, missing };
}
