/** One conversation through every door that captures content: the attributes are the same. */
// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Attributes, trace } from '@opentelemetry/api';
import { readAgentEvents } from '../src/collector/agents/index.ts';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { attachInteraction, MAX_CONTENT_CHARS } from '../src/interaction/index.ts';
import { decodeLogsJson } from '../src/otlp/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { logsRequest } from './support/agent-events.ts';
import { tryGhost } from './support/ghost.ts';
import { type HttpMcpServer, startHttpMcpServer } from './support/http-mcp-server.ts';
import { duringFile } from './support/model-hooks.ts';
import { anthropicSdk, googleSdk, openaiSdk } from './support/model-sdks.ts';
import { ProviderServer } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry(new ObservatorySpanProcessor({ captureContent: true }));
duringFile(new OpenAIInstrumentation({ captureContent: true }));
duringFile(new AnthropicInstrumentation({ captureContent: true, native: 'suppress' }));
duringFile(new GoogleGenAIInstrumentation({ captureContent: true }));
const openai = openaiSdk();
const anthropic = anthropicSdk();
const google = googleSdk();
let provider: ProviderServer;
let mcp: HttpMcpServer;

before(async () => {
  provider = await ProviderServer.start();
  mcp = await startHttpMcpServer();
});
beforeEach(() => telemetry.reset());
after(async () => {
  await provider[Symbol.asyncDispose]();
  await mcp[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

const SYSTEM = 'Be brief.';
const FAILED = 'private detail: 4711';
const ANSWER = 'It was refused.';
const TOOL = 'http__refuse';

const DOORS: readonly {
  readonly name: string;
  /** Has the conversation, with the refused call before the answer if asked for. */
  readonly say: (prompt: string, withCall: boolean) => Promise<void>;
  /** Whether the API has no flag for a failed tool. */
  readonly flagsNothing?: boolean;
}[] = [
  {
    name: 'openai',
    flagsNothing: true,
    async say(prompt, withCall) {
      const message = { role: 'assistant', content: ANSWER };
      provider.answer({
        body: { id: 'x', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] },
      });
      await openai.client(provider.url).chat.completions.create({
        model: 'gpt-4o',
        messages: [
          { role: 'system', content: SYSTEM },
          { role: 'user', content: prompt },
          ...(withCall
            ? [
                {
                  role: 'assistant' as const,
                  tool_calls: [
                    { id: 'a', type: 'function' as const, function: { name: TOOL, arguments: '{}' } },
                  ],
                },
                { role: 'tool' as const, tool_call_id: 'a', content: FAILED },
              ]
            : []),
        ],
      });
    },
  },
  {
    name: 'anthropic',
    async say(prompt, withCall) {
      const message = { type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', usage: {} };
      provider.answer({ body: { ...message, content: [{ type: 'text', text: ANSWER }] } });
      await anthropic.client(provider.url).messages.create({
        model: 'claude-sonnet-4-6',
        max_tokens: 99,
        system: SYSTEM,
        messages: [
          { role: 'user', content: prompt },
          ...(withCall
            ? [
                {
                  role: 'assistant' as const,
                  content: [{ type: 'tool_use' as const, id: 'a', name: TOOL, input: {} }],
                },
                {
                  role: 'user' as const,
                  content: [
                    { type: 'tool_result' as const, tool_use_id: 'a', is_error: true, content: FAILED },
                  ],
                },
              ]
            : []),
        ],
      });
    },
  },
  {
    name: 'gemini',
    flagsNothing: true,
    async say(prompt, withCall) {
      const content = { role: 'model', parts: [{ text: ANSWER }] };
      provider.answer({ body: { modelVersion: 'm', candidates: [{ content, finishReason: 'STOP' }] } });
      const result = { id: 'a', name: TOOL, response: FAILED as never };
      await google.client(provider.url).models.generateContent({
        model: 'gemini-2.5-flash',
        config: { systemInstruction: SYSTEM },
        contents: [
          { role: 'user', parts: [{ text: prompt }] },
          ...(withCall
            ? [
                { role: 'model', parts: [{ functionCall: { id: 'a', name: TOOL, args: {} } }] },
                { role: 'user', parts: [{ functionResponse: result }] },
              ]
            : []),
        ],
      });
    },
  },
  {
    name: 'mcpGhost',
    async say(prompt, withCall) {
      await tryGhost('openai', [...(withCall ? [{ calls: [{ name: TOOL }] }] : []), { text: ANSWER }], {
        systemPrompt: SYSTEM,
        userPrompt: prompt,
        serverConfig: { mcpServers: { http: { url: mcp.url } } },
      });
    },
  },
  {
    name: 'a span of somebody else, with data attached',
    async say(prompt, withCall) {
      trace.getTracer('theirs').startActiveSpan('chat', (span) => {
        span.setAttribute('gen_ai.operation.name', 'chat');
        attachInteraction(span, {
          content: () => ({
            input: [
              { role: 'system', parts: [{ type: 'text', content: SYSTEM }] },
              { role: 'user', parts: [{ type: 'text', content: prompt }] },
              ...(withCall
                ? ([
                    {
                      role: 'assistant',
                      parts: [{ type: 'tool_call', id: 'a', name: TOOL, arguments: {} }],
                    },
                    {
                      role: 'tool',
                      parts: [{ type: 'tool_call_response', id: 'a', response: FAILED, isError: true }],
                    },
                  ] as const)
                : []),
            ],
            output: [
              {
                role: 'assistant',
                parts: [{ type: 'text', content: ANSWER }],
                finishReason: 'end_turn',
              },
            ],
          }),
        });
        span.end();
      });
    },
  },
];

for (const { name, say, flagsNothing = false } of DOORS) {
  test(`${name}: a conversation with a failed call has the form of the conventions`, async () => {
    await say('Ask for it.', true);
    const attributes = lastCall();
    // The orchestrator adds its own instructions.
    const [system] = read(attributes, 'gen_ai.system_instructions') as { content: string }[];
    assert.ok(system?.content.startsWith(SYSTEM));
    assert.deepEqual(Object.keys(system ?? {}), ['type', 'content']);
    const [user, asked, answered] = read(attributes, 'gen_ai.input.messages') as Message[];
    assert.deepEqual(user, { role: 'user', parts: [{ type: 'text', content: 'Ask for it.' }] });
    const [call] = asked?.parts ?? [];
    const id = call?.id;
    assert.ok(id);
    assert.deepEqual(asked, {
      role: 'assistant',
      parts: [{ type: 'tool_call', id, name: TOOL, arguments: {} }],
    });
    const flag = flagsNothing ? {} : { is_error: true };
    // The orchestrator adds its advice.
    const response = answered?.parts[0]?.response;
    assert.ok(String(response).startsWith(FAILED), String(response));
    assert.deepEqual(answered, {
      role: 'tool',
      parts: [{ type: 'tool_call_response', id, name: TOOL, response, ...flag }],
    });
    assert.deepEqual(read(attributes, 'gen_ai.output.messages'), [
      { role: 'assistant', parts: [{ type: 'text', content: ANSWER }], finish_reason: 'stop' },
    ]);
  });

  test(`${name}: a prompt of a megabyte is cut at the bound, and says so`, async () => {
    await say(LONG, false);
    assert.deepEqual(read(lastCall(), 'gen_ai.input.messages'), CUT);
  });
}

const LONG = 'x'.repeat(1_000_000);
/** The names and the words of the form count too. */
const FORM_CHARS = 'roleuserpartstypetextcontent'.length;
const CUT = [
  {
    role: 'user',
    parts: [{ type: 'text', content: `${'x'.repeat(MAX_CONTENT_CHARS - FORM_CHARS)}…` }],
  },
];

const AGENTS = {
  'claude-code': ['claude_code.user_prompt', 'session.id'],
  codex: ['codex.user_prompt', 'conversation.id'],
  'gemini-cli': ['gemini_cli.user_prompt', 'session.id'],
} as const;

for (const [agent, [event, session]] of Object.entries(AGENTS)) {
  test(`${agent}: its prompts are written and cut as all others`, async () => {
    for (const [prompt, expected] of [
      ['Ask.', [{ role: 'user', parts: [{ type: 'text', content: 'Ask.' }] }]],
      [LONG, CUT],
    ] as const) {
      const attributes = { [session]: 's', 'prompt.id': 'p', prompt_id: 'p', prompt };
      const request = logsRequest(agent, [{ name: event, at: 0, attributes }], 'attribute');
      const { logs } = decodeLogsJson(Buffer.from(JSON.stringify(request)), 10);
      const [span] = (await readAgentEvents(logs)).spans;
      assert.deepEqual(read(span?.attributes ?? {}, 'gen_ai.input.messages'), expected);
    }
  });
}

test('arguments and results of tools are within the bound, on spans of agents and of others', async () => {
  const tracer = trace.getTracer('theirs');
  const span = tracer.startSpan('execute_tool t', {
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 't' },
  });
  attachInteraction(span, { toolArguments: { text: LONG }, toolResult: LONG });
  span.end();
  const attributes = { 'session.id': 's', 'prompt.id': 'p', tool_name: 't', tool_input: LONG };
  const events = [{ name: 'claude_code.tool_result', at: 0, attributes }];
  const request = logsRequest('claude-code', events, 'attribute');
  const { logs } = decodeLogsJson(Buffer.from(JSON.stringify(request)), 10);
  const [ofAgent] = (await readAgentEvents(logs)).spans;
  const cut = `${'x'.repeat(MAX_CONTENT_CHARS)}…`;
  assert.equal(read(telemetry.only.attributes, 'gen_ai.tool.call.result'), cut);
  assert.equal(read(ofAgent?.attributes ?? {}, 'gen_ai.tool.call.arguments'), cut);
  const { text } = read(telemetry.only.attributes, 'gen_ai.tool.call.arguments') as { text: string };
  assert.equal(text, `${'x'.repeat(MAX_CONTENT_CHARS - 'text'.length)}…`);
});

interface Message {
  readonly role: string;
  readonly parts: readonly { readonly id?: string; readonly response?: unknown }[];
}

/** Of the last model call. */
function lastCall(): Attributes {
  const span = telemetry.spans.filter(({ name }) => name.startsWith('chat') || name.startsWith('gen')).at(-1);
  return span?.attributes ?? {};
}

function read(attributes: Attributes, name: string): unknown {
  return JSON.parse(String(attributes[name]));
}
