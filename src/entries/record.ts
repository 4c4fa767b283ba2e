/**
 * `node --import mcp-observatory/record app.js`: keeps what the program exchanges with models and MCP servers as a
 * golden, in the file that `MCP_OBSERVATORY_GOLDEN` names.
 */
import { recordThisProgram } from '../golden/index.ts';

recordThisProgram(process.env);
