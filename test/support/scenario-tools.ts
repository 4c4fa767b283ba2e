/** The tools of the scenario server: they fail in every way a run must survive. */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

const text = (value: string, isError = false) => ({
  content: [{ type: 'text' as const, text: value }],
  isError,
});

/**
 * Two of the tools end the process they run in.
 * @param counter file that counts calls, over restarts of the process.
 */
export function createScenario(counter?: string): McpServer {
  const server = new McpServer(
    { name: 'scenario', version: '1.0.0' },
    { instructions: 'Numbers are in metres.' },
  );

  function countUp(): number {
    if (counter === undefined) return 0;
    let before = 0;
    try {
      before = Number(readFileSync(counter, 'utf8'));
    } catch {
      before = 0;
    }
    writeFileSync(counter, String(before + 1));
    return before + 1;
  }

  server.registerTool(
    'add',
    { description: 'Adds two numbers', inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => text(String(a + b)),
  );

  server.registerTool(
    'find_customer',
    { description: 'Finds a customer record by id', inputSchema: { id: z.string() } },
    ({ id }) =>
      /^C\d+$/.test(id)
        ? text(`customer ${id}: Ada, city Paris-7`)
        : text(`bad id ${id}: write C and digits`, true),
  );

  server.registerTool(
    'search_customer',
    {
      description: 'Searches a customer record by name',
      inputSchema: { name: z.string() },
      annotations: { readOnlyHint: true },
    },
    ({ name }) => text(`found customer ${name}, call ${countUp()}`),
  );

  server.registerTool(
    'slow_report',
    { description: 'Makes a report, slowly', inputSchema: { ms: z.number() } },
    async ({ ms }) => {
      await sleep(ms);
      return text('the report');
    },
  );

  server.registerTool('never', { description: 'Never answers' }, () => new Promise<never>(() => undefined));

  server.registerTool('die', { description: 'Ends the server in mid-call' }, () => process.exit(3));

  server.registerTool(
    'die_once',
    {
      description: 'Ends the server the first time, answers after that',
      annotations: { readOnlyHint: true },
    },
    () => (countUp() === 1 ? process.exit(3) : text('alive again')),
  );

  server.registerTool(
    'echo',
    {
      description: 'Gives a text back',
      inputSchema: { text: z.string() },
      annotations: { readOnlyHint: true },
    },
    ({ text: said }) => text(said),
  );

  server.registerTool('nothing', { description: 'Succeeds and has nothing to say' }, () => ({ content: [] }));

  server.registerTool(
    'flood',
    { description: 'Answers with a very long text', inputSchema: { chars: z.number() } },
    ({ chars }) => text(`BEGIN${'x'.repeat(chars)}END`),
  );

  server.registerTool('unlock', { description: 'Makes another tool appear' }, () => {
    server.registerTool('secret', { description: 'Was not there before' }, () => text('the secret is 42'));
    return text('unlocked');
  });

  let running = 0;

  server.registerTool(
    'wipe',
    { description: 'Deletes everything', annotations: { destructiveHint: true } },
    async () => {
      const before = running;
      await sleep(50);
      return text(`wiped while ${Math.max(before, running)} others ran`);
    },
  );

  server.registerTool('work', { description: 'Works for a moment' }, async () => {
    running += 1;
    await sleep(80);
    const beside = running;
    running -= 1;
    return text(`worked beside ${beside - 1} others`);
  });
  return server;
}
