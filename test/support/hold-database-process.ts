/** Opens the embedded database in the folder given, says so, and holds it until it is killed. */
import { openDatabase } from 'mcp-observatory';

await openDatabase({ dataDir: process.argv[2] });
process.stdout.write('open\n');
setInterval(() => {}, 60_000);
