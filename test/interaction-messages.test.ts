import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerText,
  conversationText,
  type Message,
  normalizeProvider,
  parseMessages,
  parseRequest,
} from '../src/interaction/index.ts';

function user(...texts: string[]): Message {
  return { role: 'user', parts: texts.map((content) => ({ type: 'text', content })) };
}

function call(id: string, name: string): Message {
  return { role: 'assistant', parts: [{ type: 'tool_call', id, name, arguments: {} }] };
}

function result(id: string, response: unknown, isError?: boolean): Message {
  return { role: 'tool', parts: [{ type: 'tool_call_response', id, response, isError }] };
}

test('a single user message is the prompt, to the character', () => {
  assert.equal(conversationText([user('  exact \n text ')]).prompt, '  exact \n text ');
});

test('the prompt joins text parts in order with a blank line and leaves empty ones out', () => {
  const { prompt } = conversationText([
    { role: 'system', parts: [{ type: 'text', content: 'S' }] },
    user('U1', '', 'U2'),
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'R' },
        { type: 'text', content: 'A' },
      ],
    },
    { role: 'developer', parts: [{ type: 'text', content: 'D' }] },
  ]);
  assert.equal(prompt, 'S\n\nU1\n\nU2\n\nA\n\nD');
});

test('no text part at all gives no prompt, an empty one gives the empty prompt', () => {
  assert.equal(conversationText([]).prompt, undefined);
  assert.equal(conversationText([call('a', 'f')]).prompt, undefined);
  assert.equal(conversationText([user('')]).prompt, '');
});

test('tool results are the retrieved context and failed ones the summary', () => {
  const text = conversationText([
    user('q'),
    call('a', 'search'),
    result('a', 'found it'),
    call('b', 'pay'),
    result('b', 'card declined', true),
    result('c', { content: [{ type: 'text', text: 'no such file' }], isError: true }),
  ]);
  assert.equal(text.retrievedContext, 'found it');
  assert.equal(text.toolResultSummary, 'error: card declined\n\nerror: no such file');
});

test('what a provider or a shell of the application ran is evidence too, in the form of each', () => {
  const said = (input: unknown) => conversationText(parseRequest({ input }));
  const responses = said([
    { type: 'mcp_call', id: 'm1', name: 'find', arguments: '{}', output: 'found it', error: null },
    { type: 'mcp_call', id: 'm2', name: 'pay', arguments: '{}', error: 'card declined' },
    { type: 'local_shell_call_output', call_id: 's1', output: '3 files' },
    { type: 'apply_patch_call_output', call_id: 'p1', status: 'failed', output: 'no such file' },
  ]);
  assert.equal(responses.retrievedContext, 'found it\n\n3 files');
  assert.equal(responses.toolResultSummary, 'error: card declined\n\nerror: no such file');
  const ran = (outcome: string) => ({ codeExecutionResult: { outcome, output: '42' } });
  const gemini = said([
    { role: 'model', parts: [ran('OUTCOME_OK'), ran('OUTCOME_FAILED'), { text: 'So.' }] },
  ]);
  const step = { tool: '', arguments: undefined, result: '42' };
  assert.deepEqual(gemini, {
    prompt: 'So.',
    retrievedContext: '42',
    stepContext: '42',
    toolResultSummary: 'error: 42',
    steps: [
      { ...step, isError: false },
      { ...step, isError: true },
    ],
  });
});

test('a result that holds no text is no evidence, and not the lack of it', () => {
  const results = (content: unknown) =>
    conversationText(
      parseRequest({ messages: [{ role: 'user', content: [{ type: 'tool_result', content }] }] }),
    );
  const page = { type: 'web_search_result', title: 'T', url: 'u', encrypted_content: 'e' };
  assert.equal(results([page]).retrievedContext, undefined);
  assert.equal(
    results([{ type: 'image', source: { type: 'base64', data: 'AAAA' } }]).retrievedContext,
    undefined,
  );
  assert.equal(results([]).retrievedContext, '');
  assert.equal(results([{ type: 'text', text: '' }]).retrievedContext, '');
  const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'D' } };
  assert.equal(results([document, page]).retrievedContext, 'D');
  const failed = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' };
  assert.match(results(failed).toolResultSummary ?? '', /max_uses_exceeded/);
});

test('a failure that a later call of the same tool made good is no failure', () => {
  const text = conversationText([
    call('a', 'pay'),
    result('a', 'timeout', true),
    call('b', 'search'),
    result('b', 'nothing', true),
    call('c', 'pay'),
    result('c', 'paid'),
  ]);
  assert.equal(text.toolResultSummary, 'error: nothing');
  assert.equal(text.retrievedContext, 'paid');
});

test('reads a failure from the result where the dialect has no flag', () => {
  const failed = (response: unknown) =>
    conversationText([result('a', response)]).toolResultSummary !== undefined;
  for (const response of [
    'Error: connection refused',
    'TypeError: x is not a function',
    'MCP error -32602: Unknown tool',
    'Traceback (most recent call last):\n ...',
    '{"isError": true, "content": []}',
    '{"error": "not found"}',
    { error: 'not found' },
    { isError: true },
    { type: 'error-text', value: 'no' },
  ]) {
    assert.equal(failed(response), true, JSON.stringify(response));
  }
  for (const response of [
    'Error rates for March: 3 %',
    'No error: all is well',
    '{"error": null, "rows": 3}',
    '{"output": "fine", "error": "warning"}',
    { output: 'ok' },
    { isError: false, content: [{ type: 'text', text: 'Error: quoted' }] },
    '',
    null,
    [],
  ]) {
    assert.equal(failed(response), false, JSON.stringify(response));
  }
});

test('the answer is the text of the first output message', () => {
  const output: Message[] = [
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'hm' },
        { type: 'text', content: 'It ' },
        { type: 'text', content: 'rains.' },
      ],
    },
    { role: 'assistant', parts: [{ type: 'text', content: 'second choice' }] },
  ];
  assert.equal(answerText(output), 'It rains.');
  assert.equal(answerText([call('a', 'f')]), undefined);
  assert.equal(answerText([]), undefined);
});

test('reads the request of every provider into the same messages', () => {
  const expected = {
    prompt: 'Be brief.\n\nWeather in Bonn?',
    retrievedContext: 'Rain',
    stepContext: 'Rain',
    toolResultSummary: undefined,
    steps: [{ tool: 'w', arguments: {}, result: 'Rain', isError: false }],
  };
  const requests = {
    chat: {
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'Weather in Bonn?' }, { type: 'image_url' }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'w', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'Rain' },
      ],
    },
    responses: {
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Weather in Bonn?' }] },
        { type: 'reasoning', summary: [] },
        { type: 'function_call', call_id: 'a', name: 'w', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'Rain' },
      ],
    },
    anthropic: {
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'Weather in Bonn?' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'tool_use', id: 'a', name: 'w', input: {} },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'Rain' }] }],
        },
      ],
    },
    gemini: {
      config: { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
      contents: [
        { role: 'user', parts: [{ text: 'Weather in Bonn?' }, { inlineData: {} }] },
        { role: 'model', parts: [{ functionCall: { name: 'w', args: {} }, thoughtSignature: 's' }] },
        { role: 'user', parts: [{ functionResponse: { name: 'w', response: { output: 'Rain' } } }] },
      ],
    },
  };
  for (const [name, request] of Object.entries(requests)) {
    assert.deepEqual(conversationText(parseRequest(request)), expected, name);
  }
});

test('keeps the flag of a failed Anthropic tool result', () => {
  const messages = parseMessages([
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true, content: 'down' }] },
  ]);
  assert.equal(conversationText(messages).toolResultSummary, 'error: down');
});

test('leaves out what is no message and never throws', () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  for (const value of [
    null,
    7,
    true,
    cyclic,
    {},
    [{}],
    [[['x']]],
    { messages: { messages: 1 } },
    [{ parts: 'x' }],
  ]) {
    assert.equal(conversationText(parseRequest(value)).prompt, undefined);
  }
});

test('names providers in the words of the conventions', () => {
  const names = {
    OpenAI: 'openai',
    'openai.chat': 'openai',
    'azure-openai.responses': 'azure.ai.openai',
    'az.ai.inference': 'azure.ai.inference',
    'anthropic.messages': 'anthropic',
    'google.generative-ai': 'gcp.gemini',
    'google.vertex.chat': 'gcp.vertex_ai',
    'gcp.vertex_ai': 'gcp.vertex_ai',
    'amazon-bedrock': 'aws.bedrock',
    AwsBedrock: 'aws.bedrock',
    bedrock_converse: 'aws.bedrock',
    google_vertexai: 'gcp.vertex_ai',
    azure_ai: 'azure.ai.inference',
    MyProvider: 'MyProvider',
    '': '',
  };
  for (const [given, expected] of Object.entries(names))
    assert.equal(normalizeProvider(given), expected, given);
});
