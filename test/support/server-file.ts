/**
 * MCP servers that many tests start as processes. A run of all tests bundles each into one file, which starts in half
 * the time; a test file run on its own starts what was compiled.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SERVERS = {
  scenario: new URL('./scenario-server.js', import.meta.url),
  modern: new URL('../fixtures/modern-server.js', import.meta.url),
  asking: new URL('../fixtures/asking-server.js', import.meta.url),
  answers: new URL('./answers-server.js', import.meta.url),
  example: new URL('../../examples/servers/main.js', import.meta.url),
} as const;
const bundles = process.env.OBSERVATORY_TEST_BUNDLES;

/** What to bundle, by the names that {@link serverFile} expects. */
export const SERVER_INPUTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(SERVERS).map(([name, url]) => [name, fileURLToPath(url)]),
);

/** The file to start a server with. */
export function serverFile(name: keyof typeof SERVERS): string {
  return bundles === undefined ? fileURLToPath(SERVERS[name]) : join(bundles, `${name}.js`);
}
