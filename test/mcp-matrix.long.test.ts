/** The matrix of MCP SDKs, module systems and transports, on this Node and the SDKs of this repository. */
import { fileURLToPath } from 'node:url';
import { describeMcpMatrix } from './support/mcp-matrix.ts';

const ROOT = new URL('../../', import.meta.url);

describeMcpMatrix(() => ({
  node: process.execPath,
  programs: fileURLToPath(new URL('test/fixtures/mcp/', ROOT)),
  register: new URL('dist/src/setup/register.js', ROOT).href,
  cwd: fileURLToPath(ROOT),
}));
