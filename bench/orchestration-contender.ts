/** One contender of the orchestration benchmark, in its own process: `contender name mcpUrl baseUrl calls runs`. */

import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { OpenAI } from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { mcpGhost } from '../src/golden/index.ts';

const PEERS = join(fileURLToPath(new URL('../../', import.meta.url)), 'bench/peers/orchestration');
const MODEL = 'gpt-4o-mini';

interface Task {
  readonly mcpUrl: string;
  readonly baseUrl: string;
  readonly calls: number;
}

type Contender = (task: Task) => Promise<void>;

/** What anybody would write first: connect, list, ask, call, until there are no calls. */
const bareLoop: Contender = async ({ mcpUrl, baseUrl }) => {
  const client = new Client({ name: 'bare', version: '1.0.0' });
  // The SDK's own classes disagree with its interface under exactOptionalPropertyTypes.
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl));
  await client.connect(transport as unknown as Parameters<typeof client.connect>[0]);
  const { tools } = await client.listTools();
  const openai = new OpenAI({ apiKey: 'k', baseURL: baseUrl, maxRetries: 0 });
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'add' }];
  for (;;) {
    const { choices } = await openai.chat.completions.create({
      model: MODEL,
      messages,
      tools: tools.map(({ name, description = '', inputSchema }) => ({
        type: 'function',
        function: { name, description, parameters: inputSchema },
      })),
    });
    const message = choices[0]?.message;
    if (message?.tool_calls === undefined) break;
    messages.push(message);
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue;
      const args = JSON.parse(call.function.arguments) as Record<string, unknown>;
      const result = await client.callTool({ name: call.function.name, arguments: args });
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result.content) });
    }
  }
  await client.close();
};

const ours: Contender = async ({ mcpUrl, baseUrl, calls }) => {
  const result = await mcpGhost({
    serverConfig: { mcpServers: { http: { url: mcpUrl } } },
    systemPrompt: '',
    userPrompt: 'add',
    provider: 'openai',
    apiKey: 'k',
    model: MODEL,
    baseUrl,
    maxIterations: calls + 1,
  });
  if (!result.success) throw new Error(result.summary);
};

/** Only what is called of the peers, which are not installed where this is compiled. */
interface AiSdk {
  generateText(options: Record<string, unknown>): Promise<{ readonly text: string }>;
  stepCountIs(count: number): unknown;
}
interface AiSdkOpenAI {
  createOpenAI(options: Record<string, unknown>): { chat(model: string): unknown };
}
interface AiSdkMcp {
  createMCPClient(
    options: Record<string, unknown>,
  ): Promise<{ tools(): Promise<unknown>; close(): Promise<void> }>;
}
interface McpUse {
  MCPClient: new (config: unknown) => { closeAllSessions(): Promise<void> };
  MCPAgent: new (
    options: Record<string, unknown>,
  ) => {
    run(options: Record<string, unknown>): Promise<string>;
    close(): Promise<void>;
  };
}
interface LangChainOpenAI {
  ChatOpenAI: new (options: Record<string, unknown>) => unknown;
}

async function peer<T>(name: string): Promise<T> {
  const { load } = (await import(pathToFileURL(join(PEERS, 'load.mjs')).href)) as {
    load(name: string): Promise<T>;
  };
  return await load(name);
}

async function aiSdk(): Promise<Contender> {
  const { generateText, stepCountIs } = await peer<AiSdk>('ai');
  const { createOpenAI } = await peer<AiSdkOpenAI>('@ai-sdk/openai');
  const { createMCPClient } = await peer<AiSdkMcp>('@ai-sdk/mcp');
  return async ({ mcpUrl, baseUrl, calls }) => {
    const client = await createMCPClient({ transport: { type: 'http', url: mcpUrl } });
    const { text } = await generateText({
      model: createOpenAI({ apiKey: 'k', baseURL: baseUrl }).chat(MODEL),
      tools: await client.tools(),
      stopWhen: stepCountIs(calls + 1),
      prompt: 'add',
      experimental_telemetry: { isEnabled: true },
    });
    await client.close();
    if (text !== 'done') throw new Error(text);
  };
}

async function mcpUse(): Promise<Contender> {
  const { MCPClient, MCPAgent } = await peer<McpUse>('mcp-use');
  const { ChatOpenAI } = await peer<LangChainOpenAI>('@langchain/openai');
  return async ({ mcpUrl, baseUrl, calls }) => {
    const client = new MCPClient({ mcpServers: { http: { url: mcpUrl } } });
    const llm = new ChatOpenAI({
      model: MODEL,
      apiKey: 'k',
      configuration: { baseURL: baseUrl },
      maxRetries: 0,
    });
    const agent = new MCPAgent({ llm, client, maxSteps: 3 * calls, memoryEnabled: false, observe: false });
    const text = await agent.run({ prompt: 'add' });
    await agent.close();
    if (!text.includes('done')) throw new Error(text);
  };
}

const CONTENDERS: Readonly<Record<string, () => Promise<Contender>>> = {
  'bare loop': () => Promise.resolve(bareLoop),
  mcpGhost: () => Promise.resolve(ours),
  'AI SDK': aiSdk,
  'mcp-use': mcpUse,
};

async function main(): Promise<void> {
  const [name = '', mcpUrl = '', baseUrl = '', calls = '', runs = ''] = process.argv.slice(2);
  const provider = new NodeTracerProvider({
    spanProcessors: [
      new BatchSpanProcessor({
        export: (_, done) => done({ code: 0 }),
        shutdown: () => Promise.resolve(),
      }),
    ],
  });
  provider.register();
  const contend = await CONTENDERS[name]?.();
  if (contend === undefined) throw new Error(`No contender ${name}`);
  const task = { mcpUrl, baseUrl, calls: Number(calls) };
  // The first runs compile the code.
  for (let run = 0; run < 3; run += 1) await contend(task);
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  for (let run = 0; run < Number(runs); run += 1) await contend(task);
  const { user, system } = process.cpuUsage(cpu);
  const count = Number(runs) * task.calls;
  process.send?.({ wallMs: (performance.now() - startedAt) / count, cpuMs: (user + system) / 1000 / count });
  process.disconnect?.();
}

await main();
process.exit(0);
