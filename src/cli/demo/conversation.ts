import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import type OpenAI from 'openai';
import type { TraceStep } from '../../evidence/index.ts';
import type { Interceptor } from '../../execution/index.ts';
import type { DemoServers } from './servers.ts';

type Message = OpenAI.ChatCompletionMessageParam;
type ToolCall = OpenAI.ChatCompletionMessageFunctionToolCall;

/** Maximum number of model answers per question. */
const MAX_TURNS = 8;
/** Below this confidence the demo asks a person instead of showing the answer. */
const CONFIDENCE_GATE = 0.6;

export interface ConversationOptions {
  readonly openai: OpenAI;
  readonly model: string;
  readonly servers: DemoServers;
  readonly interceptor: Interceptor;
  readonly systemPrompt: string;
  readonly questions: readonly string[];
  /** Called with a short description before each step. */
  readonly onStep: (text: string) => void;
}

/** Asks the questions in order; the model calls tools until it can answer. */
export async function converse(options: ConversationOptions): Promise<void> {
  const messages: Message[] = [{ role: 'system', content: options.systemPrompt }];
  const evidence: Evidence = { steps: [], failures: [] };
  for (const question of options.questions) {
    messages.push({ role: 'user', content: question });
    evidence.failures.length = 0;
    for (let turn = 0; turn < MAX_TURNS; turn += 1) {
      const completion = await askModel(options, messages, evidence);
      const reply = completion.choices[0]?.message;
      if (reply === undefined) break;
      messages.push(reply);
      const calls = (reply.tool_calls ?? []).filter((call): call is ToolCall => call.type === 'function');
      if (calls.length === 0) break;
      for (const call of calls) messages.push(await runTool(options, call, evidence));
    }
  }
}

interface Evidence {
  /** All calls so far, with the texts of their results. */
  readonly steps: (TraceStep & { readonly result: string })[];
  /** What failed since the last question. */
  readonly failures: string[];
}

async function askModel(options: ConversationOptions, messages: readonly Message[], evidence: Evidence) {
  options.onStep(`asking ${options.model}`);
  // The application's own signal: an answer is less certain if a tool failed.
  const confidence = evidence.failures.length === 0 ? 0.9 : 0.4;
  const blocked = confidence < CONFIDENCE_GATE;
  return options.interceptor.interceptModelCall({
    model: options.model,
    provider: 'openai',
    prompt:
      messages.map((message) => (message.role === 'user' ? toText(message) : '')).findLast(Boolean) ?? '',
    steps: [...evidence.steps],
    retrievedContext: evidence.steps.map(({ result }) => result).join('\n\n') || undefined,
    toolResultSummary: evidence.failures.length === 0 ? undefined : evidence.failures.join('\n\n'),
    promptTemplateId: 'invoice-review-v1',
    riskTier: 'high',
    confidence,
    confidenceGateThreshold: CONFIDENCE_GATE,
    ...(blocked
      ? { fallbackUsed: true, fallbackType: 'human_review', fallbackReason: 'low_confidence' }
      : {}),
    call: () =>
      options.openai.chat.completions.create({
        model: options.model,
        messages: [...messages],
        tools: options.servers.tools.map(toFunction),
      }),
  });
}

async function runTool(options: ConversationOptions, call: ToolCall, evidence: Evidence): Promise<Message> {
  const { name } = call.function;
  options.onStep(`calling ${name}`);
  const args = JSON.parse(call.function.arguments) as Record<string, unknown>;
  const result = await options.interceptor.interceptToolCall({
    toolName: name,
    callId: call.id,
    arguments: args,
    call: () => options.servers.callTool(name, args),
  });
  const text = resultText(result);
  const isError = result.isError === true;
  evidence.steps.push({ tool: name, arguments: args, result: text, isError });
  if (isError) evidence.failures.push(text);
  return { role: 'tool', tool_call_id: call.id, content: text };
}

function toFunction(tool: Tool): OpenAI.ChatCompletionTool {
  return {
    type: 'function',
    function: {
      name: tool.name,
      parameters: tool.inputSchema as Record<string, unknown>,
      ...(tool.description === undefined ? {} : { description: tool.description }),
    },
  };
}

function toText(message: Message): string {
  return typeof message.content === 'string' ? message.content : '';
}

function resultText(result: CallToolResult): string {
  return result.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
}
