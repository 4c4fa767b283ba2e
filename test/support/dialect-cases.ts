import { SpanKind } from '@opentelemetry/api';
import type { Interaction } from '../../src/interaction/index.ts';
import type { SpanFixture } from './span-fixture.ts';

/** A span as one dialect writes it, and what is read from it. */
export interface DialectCase {
  readonly dialect: string;
  readonly span: SpanFixture;
  readonly expected: Interaction;
}

export const MESSAGES = [
  { role: 'user', parts: [{ type: 'text', content: 'What is the weather?' }] },
  {
    role: 'assistant',
    parts: [{ type: 'tool_call', id: 'c1', name: 'weather', arguments: { city: 'Bonn' } }],
  },
  { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'Rain in Bonn' }] },
];
/** What a dialect tells of the one tool call. */
const rainStep = (tool: string, args: unknown) => ({
  steps: [{ tool, arguments: args, result: 'Rain in Bonn', isError: false }],
  stepContext: 'Rain in Bonn',
});

export const OUTPUT = [
  { role: 'assistant', parts: [{ type: 'text', content: 'It rains.' }], finish_reason: 'stop' },
];
export const SYSTEM = [{ type: 'text', content: 'Be brief.' }];
export const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
};
const OPENAI = { provider: 'openai', model: 'gpt-4o' };

export const DIALECT_CASES: readonly DialectCase[] = [
  {
    dialect: 'semconv attributes as JSON text',
    span: {
      attributes: {
        ...CHAT,
        'gen_ai.response.model': 'gpt-4o-2024-08-06',
        'gen_ai.input.messages': JSON.stringify(MESSAGES),
        'gen_ai.output.messages': JSON.stringify(OUTPUT),
        'gen_ai.system_instructions': JSON.stringify(SYSTEM),
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.output_tokens': 20,
        'gen_ai.usage.cache_read.input_tokens': 90,
        'gen_ai.usage.reasoning.output_tokens': 5,
      },
    },
    expected: {
      provider: 'openai',
      model: 'gpt-4o-2024-08-06',
      prompt: 'Be brief.\n\nWhat is the weather?',
      answer: 'It rains.',
      retrievedContext: 'Rain in Bonn',
      ...rainStep('weather', { city: 'Bonn' }),
      usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 90, reasoningTokens: 5 },
    },
  },
  {
    dialect: 'semconv message events with fields as attributes',
    span: {
      attributes: {
        'gen_ai.system': 'openai',
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-4o',
      },
      events: [
        { name: 'gen_ai.system.message', attributes: { content: 'Be brief.' } },
        { name: 'gen_ai.user.message', attributes: { content: 'What is the weather?' } },
        {
          name: 'gen_ai.assistant.message',
          attributes: {
            tool_calls: JSON.stringify([{ id: 'c1', function: { name: 'weather', arguments: '{}' } }]),
          },
        },
        { name: 'gen_ai.tool.message', attributes: { id: 'c1', content: 'Rain in Bonn' } },
        {
          name: 'gen_ai.choice',
          attributes: { index: 0, finish_reason: 'stop', message: JSON.stringify({ content: 'It rains.' }) },
        },
      ],
    },
    expected: {
      ...OPENAI,
      prompt: 'Be brief.\n\nWhat is the weather?',
      answer: 'It rains.',
      retrievedContext: 'Rain in Bonn',
      ...rainStep('weather', {}),
    },
  },
  {
    dialect: 'semconv message events with the body in gen_ai.event.content',
    span: {
      attributes: { 'gen_ai.system': 'az.ai.inference', 'gen_ai.request.model': 'gpt-4o' },
      events: [
        { name: 'gen_ai.user.message', attributes: { 'gen_ai.event.content': '{"content":"Hello"}' } },
        {
          name: 'gen_ai.choice',
          attributes: {
            'gen_ai.event.content': '{"message":{"content":"Hi."},"finish_reason":"stop","index":0}',
          },
        },
      ],
    },
    expected: { provider: 'azure.ai.inference', model: 'gpt-4o', prompt: 'Hello', answer: 'Hi.' },
  },
  {
    dialect: 'semconv content events',
    span: {
      attributes: { 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-4o' },
      events: [
        {
          name: 'gen_ai.content.prompt',
          attributes: { 'gen_ai.prompt': '[{"role":"user","content":"Hello"}]' },
        },
        { name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': 'Hi.' } },
      ],
    },
    expected: { ...OPENAI, prompt: 'Hello', answer: 'Hi.' },
  },
  {
    dialect: 'semconv operation details event',
    span: {
      attributes: CHAT,
      events: [
        {
          name: 'gen_ai.client.inference.operation.details',
          attributes: {
            'gen_ai.input.messages': JSON.stringify(MESSAGES.slice(0, 1)),
            'gen_ai.output.messages': JSON.stringify(OUTPUT),
          },
        },
      ],
    },
    expected: { ...OPENAI, prompt: 'What is the weather?', answer: 'It rains.' },
  },
  {
    dialect: 'legacy gen_ai.prompt and gen_ai.completion',
    span: {
      attributes: {
        'gen_ai.system': 'openai',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.prompt': '{"no":"messages"}',
        'gen_ai.completion': '[{"role":"assistant","content":"Hi."}]',
        'gen_ai.usage.prompt_tokens': 4,
        'gen_ai.usage.completion_tokens': 2,
      },
    },
    expected: {
      ...OPENAI,
      prompt: '{"no":"messages"}',
      answer: 'Hi.',
      usage: { inputTokens: 4, outputTokens: 2 },
    },
  },
  {
    dialect: 'OpenInference chat',
    span: {
      attributes: {
        'openinference.span.kind': 'LLM',
        'llm.system': 'anthropic',
        'llm.model_name': 'claude-sonnet-4-5',
        'llm.input_messages.0.message.role': 'system',
        'llm.input_messages.0.message.content': 'Be brief.',
        'llm.input_messages.1.message.role': 'user',
        'llm.input_messages.1.message.contents.0.message_content.type': 'text',
        'llm.input_messages.1.message.contents.0.message_content.text': 'What is',
        'llm.input_messages.1.message.contents.1.message_content.type': 'text',
        'llm.input_messages.1.message.contents.1.message_content.text': 'the weather?',
        'llm.input_messages.2.message.role': 'assistant',
        'llm.input_messages.2.message.tool_calls.0.tool_call.id': 'c1',
        'llm.input_messages.2.message.tool_calls.0.tool_call.function.name': 'weather',
        'llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments': '{"city":"Bonn"}',
        'llm.input_messages.3.message.role': 'tool',
        'llm.input_messages.3.message.tool_call_id': 'c1',
        'llm.input_messages.3.message.content': 'Rain in Bonn',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': 'It rains.',
        'input.value': '{"messages":[]}',
        'input.mime_type': 'application/json',
        'llm.token_count.prompt': 15,
        'llm.token_count.completion': 7,
        'llm.token_count.prompt_details.cache_read': 3,
        'llm.token_count.prompt_details.cache_write': 2,
        'llm.cost.total': 0.0042,
      },
    },
    expected: {
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      prompt: 'Be brief.\n\nWhat is\n\nthe weather?',
      answer: 'It rains.',
      retrievedContext: 'Rain in Bonn',
      ...rainStep('weather', { city: 'Bonn' }),
      usage: { inputTokens: 15, outputTokens: 7, cacheReadTokens: 3, cacheWriteTokens: 2 },
      providerCostUsd: 0.0042,
    },
  },
  {
    dialect: 'OpenInference agent with input.value and output.value',
    span: {
      attributes: {
        'openinference.span.kind': 'AGENT',
        'input.value': 'Plan my day',
        'output.value': '{"choices":[{"message":{"content":"Done."}}]}',
        'output.mime_type': 'application/json',
      },
    },
    expected: { prompt: 'Plan my day', answer: 'Done.' },
  },
  {
    dialect: 'OpenInference retriever',
    span: {
      attributes: {
        'openinference.span.kind': 'RETRIEVER',
        'input.value': 'weather Bonn',
        'output.value': '[{"page_content":"Rain"}]',
        'retrieval.documents.0.document.content': 'Rain in Bonn',
        'retrieval.documents.1.document.content': 'Sun in Rome',
      },
    },
    expected: { prompt: 'weather Bonn', retrievedContext: 'Rain in Bonn\n\nSun in Rome' },
  },
  {
    dialect: 'OpenInference embedding',
    span: {
      attributes: {
        'openinference.span.kind': 'EMBEDDING',
        'embedding.model_name': 'text-embedding-3-small',
        'embedding.embeddings.0.embedding.text': 'one',
        'embedding.embeddings.1.embedding.text': 'two',
        'output.value': '{"data":[]}',
      },
    },
    expected: { model: 'text-embedding-3-small', prompt: 'one\n\ntwo' },
  },
  {
    dialect: 'OpenInference tool',
    span: {
      attributes: {
        'openinference.span.kind': 'TOOL',
        'tool.name': 'weather',
        'input.value': '{"city":"Bonn"}',
        'output.value': 'Rain',
      },
    },
    expected: { toolArguments: { city: 'Bonn' } },
  },
  {
    dialect: 'OpenLLMetry chat',
    span: {
      attributes: {
        'gen_ai.system': 'OpenAI',
        'llm.request.type': 'chat',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.prompt.0.role': 'system',
        'gen_ai.prompt.0.content': 'Be brief.',
        'gen_ai.prompt.1.role': 'user',
        'gen_ai.prompt.1.content': '[{"type":"text","text":"What is the weather?"}]',
        'gen_ai.prompt.2.role': 'tool',
        'gen_ai.prompt.2.tool_call_id': 'c1',
        'gen_ai.prompt.2.content': 'Rain in Bonn',
        'gen_ai.completion.0.role': 'assistant',
        'gen_ai.completion.0.content': 'It rains.',
        'gen_ai.completion.0.finish_reason': 'stop',
        'llm.usage.total_tokens': 120,
        'gen_ai.usage.prompt_tokens': 100,
        'gen_ai.usage.completion_tokens': 20,
      },
    },
    expected: {
      ...OPENAI,
      prompt: 'Be brief.\n\nWhat is the weather?',
      answer: 'It rains.',
      retrievedContext: 'Rain in Bonn',
      ...rainStep('', undefined),
      usage: { inputTokens: 100, outputTokens: 20 },
    },
  },
  {
    dialect: 'OpenLLMetry workflow',
    span: {
      attributes: {
        'traceloop.span.kind': 'workflow',
        'traceloop.entity.name': 'planner',
        'traceloop.entity.input': '{"args":["Plan my day"],"kwargs":{}}',
        'traceloop.entity.output': '"Done."',
      },
    },
    expected: { prompt: '{"args":["Plan my day"],"kwargs":{}}', answer: '"Done."' },
  },
  {
    dialect: 'OpenLLMetry tool',
    span: {
      attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.input': '{"city":"Bonn"}' },
    },
    expected: { toolArguments: { city: 'Bonn' } },
  },
  {
    dialect: "Anthropic's native spans",
    span: {
      name: 'anthropic.messages.create',
      scope: 'com.anthropic.sdk.typescript',
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'claude-sonnet-4-5',
        'gen_ai.system_instructions': JSON.stringify(SYSTEM),
        'gen_ai.input.messages': JSON.stringify(MESSAGES),
        'gen_ai.output.messages': JSON.stringify([OUTPUT[0]]),
        'gen_ai.usage.input_tokens': 15,
        'gen_ai.usage.output_tokens': 7,
        'gen_ai.usage.cache_write.input_tokens': 2,
        'gen_ai.usage.cache_read.input_tokens': 3,
        'anthropic.usage.cache_creation.ephemeral_1h_input_tokens': 2,
        'anthropic.message.stop_reason': 'end_turn',
      },
    },
    expected: {
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      prompt: 'Be brief.\n\nWhat is the weather?',
      answer: 'It rains.',
      retrievedContext: 'Rain in Bonn',
      ...rainStep('weather', { city: 'Bonn' }),
      usage: {
        inputTokens: 15,
        outputTokens: 7,
        cacheReadTokens: 3,
        cacheWriteTokens: 2,
        cacheWrite1hTokens: 2,
      },
    },
  },
  {
    dialect: 'AI SDK inner call',
    span: {
      name: 'ai.generateText.doGenerate',
      attributes: {
        'ai.operationId': 'ai.generateText.doGenerate',
        'ai.model.provider': 'openai.chat',
        'gen_ai.system': 'openai.chat',
        'gen_ai.request.model': 'gpt-4o',
        'ai.prompt.messages': JSON.stringify([
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: [{ type: 'text', text: 'What is the weather?' }] },
          {
            role: 'tool',
            content: [
              {
                type: 'tool-result',
                toolCallId: 'c1',
                toolName: 'weather',
                output: { type: 'text', value: 'Rain in Bonn' },
              },
            ],
          },
        ]),
        'ai.response.text': 'It rains.',
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.output_tokens': 20,
        'ai.usage.cachedInputTokens': 90,
      },
    },
    expected: {
      ...OPENAI,
      prompt: 'Be brief.\n\nWhat is the weather?',
      answer: 'It rains.',
      retrievedContext: 'Rain in Bonn',
      ...rainStep('weather', undefined),
      usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 90 },
    },
  },
  {
    dialect: 'AI SDK tool call',
    span: { attributes: { 'ai.operationId': 'ai.toolCall', 'ai.toolCall.args': '{"city":"Bonn"}' } },
    expected: { toolArguments: { city: 'Bonn' } },
  },
  {
    dialect: 'MCP tool call',
    span: {
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'weather',
        'gen_ai.tool.call.arguments': '{"city":"Bonn"}',
        'gen_ai.tool.call.result': '{"content":[{"type":"text","text":"Rain"}]}',
      },
    },
    expected: { toolArguments: { city: 'Bonn' } },
  },
];
