/** Answers of the three APIs, plain and streamed, as the fixture programs get them. */
import { type ProviderReply, sse } from './provider-server.ts';

/** One answer for each API, and an error that quotes the prompt and the key for a prompt that asks for it. */
export function answer({ path, body }: { path: string; body: unknown }): ProviderReply {
  const text = JSON.stringify(body);
  if (text.includes('FAIL')) {
    const message = `PLANTED-ERROR for sk-secret-key: ${text}`;
    const error = { type: 'invalid_request_error', code: 400, status: 'INVALID_ARGUMENT', message };
    return { status: 400, body: { type: 'error', error } };
  }
  const stream = path.includes('stream') || (body as { stream?: boolean }).stream === true;
  if (path.includes('/chat/completions')) return openaiAnswer(stream);
  return path.includes('/messages') ? anthropicAnswer(stream) : googleAnswer(stream);
}

function openaiAnswer(stream: boolean) {
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  const message = { role: 'assistant', content: 'PLANTED-ANSWER' };
  const common = { id: 'c1', model: 'gpt-4o-mini-2024', usage };
  if (!stream) return { body: { ...common, choices: [{ index: 0, message, finish_reason: 'stop' }] } };
  return {
    events: sse([{ ...common, choices: [{ index: 0, delta: message, finish_reason: 'stop' }] }, '[DONE]']),
  };
}

function anthropicAnswer(stream: boolean) {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = {
    id: 'm1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    stop_reason: 'end_turn',
  };
  const content = [{ type: 'text', text: 'PLANTED-ANSWER' }];
  if (!stream) return { body: { ...message, content, usage } };
  return {
    events: sse(
      [
        { type: 'message_start', message: { ...message, content: [], usage } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
        { type: 'message_stop' },
      ],
      true,
    ),
  };
}

function googleAnswer(stream: boolean) {
  const content = { role: 'model', parts: [{ text: 'PLANTED-ANSWER' }] };
  const response = {
    candidates: [{ content, finishReason: 'STOP' }],
    modelVersion: 'gemini-2.5-flash',
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
  };
  return stream ? { events: sse([response]) } : { body: response };
}
