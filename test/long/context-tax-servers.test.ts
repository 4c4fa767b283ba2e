/** The definitions of real servers: of the shared data, of those installed here, and of others from npm. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { readOfferedTools } from '../../src/interaction/index.ts';
import { ContextTax } from '../../src/processor/context-tax.ts';
import { definitionText, estimateTokens } from '../../src/signals/index.ts';
import { needsData, readRows } from '../support/data.ts';
import { npmServer } from '../support/ghost.ts';
import { assertFree } from '../support/loop-hold.ts';
import type { Json } from '../support/recordings.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Packages that list their tools without an account, and what they are started with. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@modelcontextprotocol/server-github@2025.4.8': [],
  '@modelcontextprotocol/server-gitlab@2025.4.25': [],
  '@modelcontextprotocol/server-slack@2025.4.25': [],
  '@modelcontextprotocol/server-google-maps@0.6.2': [],
  '@antv/mcp-server-chart@0.9.10': [],
  '@playwright/mcp@0.0.83': [],
  'chrome-devtools-mcp@1.11.0': ['--no-usage-statistics'],
};
/** Some do not start without. */
const KEYS = {
  GITHUB_PERSONAL_ACCESS_TOKEN: 'none',
  GITLAB_PERSONAL_ACCESS_TOKEN: 'none',
  SLACK_BOT_TOKEN: 'none',
  SLACK_TEAM_ID: 'none',
  GOOGLE_MAPS_API_KEY: 'none',
};

interface RealTool {
  readonly server: string;
  readonly tool: Json;
}

async function listed(server: string, command: string, args: readonly string[]): Promise<RealTool[]> {
  const client = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env.PATH ?? '', ...KEYS };
  await client.connect(new StdioClientTransport({ command, args: [...args], env, stderr: 'ignore' }));
  await using _closing = { [Symbol.asyncDispose]: () => client.close() };
  return (await client.listTools()).tools.map((tool) => ({ server, tool }));
}

async function fromNpm(): Promise<RealTool[]> {
  const folder = tempDir();
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...Object.keys(PACKAGES)];
  await promisify(execFile)('npm', install, { cwd: folder });
  const tools: RealTool[] = [];
  for (const [spec, args] of Object.entries(PACKAGES)) {
    const name = spec.slice(0, spec.lastIndexOf('@'));
    const root = join(folder, 'node_modules', name);
    const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Json;
    const entry = typeof bin === 'string' ? bin : (Object.values(bin)[0] as string);
    tools.push(...(await listed(name, process.execPath, [join(root, entry), ...args])));
  }
  return tools;
}

async function fromHere(): Promise<RealTool[]> {
  const servers = { everything: [], filesystem: [tempDir()], memory: [], 'sequential-thinking': [] };
  const lists = Object.entries(servers).map(([name, args]) => {
    const { command, args: all } = npmServer(name, args);
    return listed(`@modelcontextprotocol/server-${name}`, command, all);
  });
  return (await Promise.all(lists)).flat();
}

/** The forms in which providers are offered tools. */
const FORMS: Readonly<Record<string, { readonly model: string; readonly offer: (tools: Json[]) => Json }>> = {
  openai: {
    model: 'gpt-4o',
    offer: (tools) =>
      tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        function: { name, description, parameters: inputSchema },
      })),
  },
  anthropic: {
    model: 'claude-sonnet-4-5',
    offer: (tools) =>
      tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
  },
  'gcp.gemini': {
    model: 'gemini-3-flash-preview',
    offer: (tools) => [
      {
        functionDeclarations: tools.map(({ name, description, inputSchema }) => ({
          name,
          description,
          parametersJsonSchema: inputSchema,
        })),
      },
    ],
  },
};

describe('300 real definitions', needsData('mcp_tools.jsonl'), () => {
  test('each is counted, in the form of each provider, without holding the event loop', async () => {
    const rows = readRows<{ server: string; tool: Json }>('mcp_tools.jsonl');
    const all = [...(await fromHere()), ...(await fromNpm()), ...rows];
    const real = new Map(all.map(({ server, tool }) => [`${server} ${tool.name}`, tool]));
    assert.ok(real.size >= 300, `${real.size} real definitions`);
    // Two servers may have a tool of the same name; a model is offered each name once.
    const tools = [...real.values()].map((tool, i) => ({ ...tool, name: `${tool.name}_${i}`.slice(-60) }));
    for (const [provider, { model, offer }] of Object.entries(FORMS)) {
      const offered = offer(tools);
      const tax = new ContextTax();
      await assertFree(`counting ${tools.length} definitions`, async () => {
        tax.prepare(structuredClone(offered), model);
        await tax.settled();
      });
      const call = { tools: offered, provider, model, usage: { inputTokens: 500_000 } };
      const price = { model, provider, at: new Date('2026-11-01') };
      const calls = Array.from({ length: 12 }, () => tax.fieldsOf(call, price));
      assert.equal(calls[0]?.offered_tools, tools.length);
      const parts = calls.flatMap(({ offered_tools_list: list }) => (list === undefined ? [] : [list]));
      const named = parts.flatMap((part) =>
        Object.values((JSON.parse(part) as Json).tools as Json).flatMap((of) => Object.entries(of as Json)),
      ) as [string, number][];
      assert.deepEqual(named.map(([name]) => name).sort(), tools.map(({ name }) => name).sort());
      for (const [name, tokens] of named) assert.ok(tokens > 0, `${provider}: ${name}`);
      if (provider !== 'openai') continue;
      // By hand: the tokens of the text of all of them.
      const whole = readOfferedTools(offered).reduce(
        (sum, { definition }) =>
          sum + (definition ? estimateTokens(definitionText(definition, 'typescript'), model) : 0),
        0,
      );
      assert.ok(Math.abs((calls[0]?.offered_tools_tokens ?? 0) - whole) <= 0.01 * whole);
    }
  });
});
