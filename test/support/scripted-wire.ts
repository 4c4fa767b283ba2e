import type { ScriptedCall, Turn } from './scripted-provider.ts';
import type { SeenRequest } from './scripted-request.ts';

const USAGE = { input: 100, output: 20 };

/** Gives a scripted Gemini a signature to ask back. */
export function signatureOf(index: number): string {
  return Buffer.from(`signature ${index}`).toString('base64');
}

export function plainBody(seen: SeenRequest, turn: Turn, index: number): unknown {
  if (seen.api === 'openai') return openaiBody(seen, turn, index);
  if (seen.api === 'anthropic') return anthropicBody(seen, turn, index);
  return geminiBody(seen, turn, index);
}

function openaiBody(seen: SeenRequest, turn: Turn, index: number): unknown {
  const calls = turn.calls ?? [];
  return {
    id: `chatcmpl-${index}`,
    object: 'chat.completion',
    created: 1_700_000_000,
    model: seen.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: turn.refused === true ? null : (turn.text ?? null),
          refusal: turn.refused === true ? (turn.text ?? '') : null,
          ...(turn.reasoning === undefined ? {} : { reasoning_content: turn.reasoning }),
          ...(calls.length === 0 ? {} : { tool_calls: calls.map((call, at) => openaiCall(call, index, at)) }),
        },
        finish_reason: turn.truncated === true ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: openaiUsage(turn),
  };
}

function openaiCall(call: ScriptedCall, index: number, at: number) {
  return {
    id: `call_${index}_${at}`,
    type: 'function',
    function: { name: call.name, arguments: call.rawArguments ?? JSON.stringify(call.arguments ?? {}) },
  };
}

function openaiUsage(turn: Turn) {
  const { input, output, cached } = { cached: 0, ...USAGE, ...turn.usage };
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

function anthropicBody(seen: SeenRequest, turn: Turn, index: number) {
  return {
    id: `msg_${index}`,
    type: 'message',
    role: 'assistant',
    model: seen.model,
    content: [
      ...(turn.reasoning === undefined
        ? []
        : [{ type: 'thinking', thinking: turn.reasoning, signature: signatureOf(index) }]),
      ...(turn.text === undefined ? [] : [{ type: 'text', text: turn.text }]),
      ...(turn.calls ?? []).map((call, at) => ({
        type: 'tool_use',
        id: `toolu_${index}_${at}`,
        name: call.name,
        input: call.rawArguments === undefined ? (call.arguments ?? {}) : call.rawArguments,
      })),
    ],
    stop_reason:
      turn.refused === true
        ? 'refusal'
        : turn.truncated === true
          ? 'max_tokens'
          : (turn.calls ?? []).length > 0
            ? 'tool_use'
            : 'end_turn',
    stop_sequence: null,
    usage: anthropicUsage(turn),
  };
}

function anthropicUsage(turn: Turn) {
  const { input, output, cached } = { cached: 0, ...USAGE, ...turn.usage };
  return { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: output };
}

function geminiBody(seen: SeenRequest, turn: Turn, index: number) {
  const { input, output, cached } = { cached: 0, ...USAGE, ...turn.usage };
  return {
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            ...(turn.reasoning === undefined ? [] : [{ text: turn.reasoning, thought: true }]),
            ...(turn.text === undefined || turn.refused === true ? [] : [{ text: turn.text }]),
            ...(turn.calls ?? []).map((call, at) => ({
              functionCall: {
                ...(seen.model.startsWith('gemini-2') ? {} : { id: `g_${index}_${at}` }),
                name: call.name,
                args: call.rawArguments === undefined ? (call.arguments ?? {}) : call.rawArguments,
              },
              ...(at === 0 ? { thoughtSignature: signatureOf(index) } : {}),
            })),
          ],
        },
        finishReason: geminiReason(turn),
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
      ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    },
    modelVersion: seen.model,
    responseId: `resp_${index}`,
  };
}

function geminiReason(turn: Turn): string {
  if (turn.refused === true) return 'SAFETY';
  if (turn.malformedCall === true) return 'MALFORMED_FUNCTION_CALL';
  return turn.truncated === true ? 'MAX_TOKENS' : 'STOP';
}

export function streamBody(seen: SeenRequest, turn: Turn, index: number): string {
  if (seen.api === 'openai') return openaiStream(seen, turn, index);
  if (seen.api === 'anthropic') return anthropicStream(seen, turn, index);
  return geminiStream(seen, turn, index);
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '');
}

function openaiStream(seen: SeenRequest, turn: Turn, index: number): string {
  const base = { id: `chatcmpl-${index}`, object: 'chat.completion.chunk', created: 1, model: seen.model };
  const chunk = (delta: unknown, finish: string | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const calls = turn.calls ?? [];
  const events: unknown[] = [chunk({ role: 'assistant', content: '' })];
  for (const text of halves(turn.reasoning ?? '')) events.push(chunk({ reasoning_content: text }));
  const said = turn.refused === true ? 'refusal' : 'content';
  for (const text of halves(turn.text ?? '')) events.push(chunk({ [said]: text }));
  for (const [at, call] of calls.entries()) {
    const { id, function: fn } = openaiCall(call, index, at);
    events.push(
      chunk({
        tool_calls: [{ index: at, id, type: 'function', function: { name: fn.name, arguments: '' } }],
      }),
    );
    for (const piece of halves(fn.arguments)) {
      events.push(chunk({ tool_calls: [{ index: at, function: { arguments: piece } }] }));
    }
  }
  events.push(chunk({}, turn.truncated === true ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop'));
  if ((seen.body.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true) {
    events.push({ ...base, choices: [], usage: openaiUsage(turn) });
  }
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
}

function anthropicStream(seen: SeenRequest, turn: Turn, index: number): string {
  const message = anthropicBody(seen, turn, index);
  const events: { type: string; [key: string]: unknown }[] = [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...message.usage, output_tokens: 1 } },
    },
  ];
  for (const [at, block] of message.content.entries()) {
    events.push(...anthropicBlock(at, block as Record<string, unknown>));
  }
  events.push(
    {
      type: 'message_delta',
      delta: { stop_reason: message.stop_reason, stop_sequence: null },
      usage: { output_tokens: message.usage.output_tokens },
    },
    { type: 'message_stop' },
  );
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

function anthropicBlock(at: number, block: Record<string, unknown>) {
  const deltas: unknown[] = [];
  let start: unknown = block;
  if (block.type === 'text') {
    start = { type: 'text', text: '' };
    for (const text of halves(String(block.text))) deltas.push({ type: 'text_delta', text });
  } else if (block.type === 'thinking') {
    start = { type: 'thinking', thinking: '', signature: '' };
    for (const thinking of halves(String(block.thinking))) deltas.push({ type: 'thinking_delta', thinking });
    deltas.push({ type: 'signature_delta', signature: block.signature });
  } else {
    start = { ...block, input: {} };
    const json = typeof block.input === 'string' ? block.input : JSON.stringify(block.input);
    for (const piece of halves(json)) deltas.push({ type: 'input_json_delta', partial_json: piece });
  }
  return [
    { type: 'content_block_start', index: at, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: at, delta })),
    { type: 'content_block_stop', index: at },
  ];
}

function geminiStream(seen: SeenRequest, turn: Turn, index: number): string {
  const whole = geminiBody(seen, turn, index);
  const [candidate] = whole.candidates;
  const parts = candidate?.content.parts ?? [];
  const chunks = parts.flatMap((part) => {
    const plain = 'text' in part && part.text !== undefined;
    return plain ? halves(String(part.text)).map((text) => ({ ...part, text })) : [part];
  });
  const last = { ...whole, candidates: [{ ...candidate, content: { role: 'model', parts: [] } }] };
  const events: unknown[] = chunks.map((part) => ({
    candidates: [{ content: { role: 'model', parts: [part] }, index: 0 }],
    usageMetadata: { promptTokenCount: whole.usageMetadata.promptTokenCount },
    modelVersion: whole.modelVersion,
    responseId: whole.responseId,
  }));
  events.push(last);
  return events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('');
}
