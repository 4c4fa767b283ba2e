/**
 * Asks the graph one question, with the three example servers and the model of your choice:
 *
 *   OPENAI_API_KEY=... node dist/examples/langgraph-single-step/main.js "Summarize SharePoint doc sp-001"
 *
 * Set `PROVIDER=anthropic` or `gemini` for another provider, `OPENAI_BASE_URL` for any OpenAI-compatible endpoint.
 */
import { fileURLToPath } from 'node:url';
import { modelPlanner } from 'mcp-observatory/orchestrator';
import { askResultToWire, connectPolicyServer, PolicyGate } from 'mcp-observatory/policy';
import { singleStepGraph } from './graph.ts';

const [query] = process.argv.slice(2);
if (query === undefined) {
  process.stderr.write('Usage: main.js "question"\n');
  process.exit(2);
}

const main = fileURLToPath(new URL('../servers/main.js', import.meta.url));
const policy = fileURLToPath(new URL('../../../config/allowlist.json', import.meta.url));
const connect = (id: string) => connectPolicyServer({ command: process.execPath, args: [main, id] });

const planner = await modelPlanner({ provider: process.env.PROVIDER });
using gate = new PolicyGate({ policy });
const servers = {
  'mcp-sharepoint': await connect('mcp-sharepoint'),
  'mcp-servicenow': await connect('mcp-servicenow'),
  'mcp-policy-kb': await connect('mcp-policy-kb'),
};
try {
  const { outcome } = await singleStepGraph({ gate, planner, servers }).invoke({ query });
  process.stdout.write(`${JSON.stringify(askResultToWire(outcome), null, 2)}\n`);
} finally {
  await Promise.allSettled(Object.values(servers).map((server) => server.close()));
}
