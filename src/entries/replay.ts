/**
 * `node --import mcp-observatory/replay app.js`: answers the program's models and MCP servers from the golden that
 * `MCP_OBSERVATORY_GOLDEN` names, without a key, a network or a server.
 */
import { replayThisProgram } from '../golden/index.ts';

await replayThisProgram(process.env);
