/** Requests of OTLP protobuf that the benchmarks of the service send, by kind of span. */
import { encodeProtobuf } from '../test/support/otlp-encode.ts';

type Attribute = readonly [key: string, value: string | number];

const CHAT: readonly Attribute[] = [
  ['gen_ai.operation.name', 'chat'],
  ['gen_ai.provider.name', 'openai'],
  ['gen_ai.request.model', 'gpt-4o'],
  ['gen_ai.response.model', 'gpt-4o-2024-08-06'],
  ['gen_ai.response.id', 'chatcmpl-92311'],
  ['gen_ai.usage.input_tokens', 1200],
  ['gen_ai.usage.output_tokens', 300],
  ['gen_ai.conversation.id', 'conversation-1'],
  ['server.address', 'api.openai.com'],
  ['server.port', 443],
];
const QUESTION = `Where is order 92311? It was sent on 3 May to Berlin. ${'It is urgent. '.repeat(10)}`;
const ANSWER = `Order 92311 was sent on 3 May and is in Berlin. ${'It comes tomorrow. '.repeat(4)}`;
const CONTENT: readonly Attribute[] = [
  ...CHAT,
  ['gen_ai.prompt.0.role', 'system'],
  ['gen_ai.prompt.0.content', 'You answer questions about orders. Be brief, and name the order.'],
  ['gen_ai.prompt.1.role', 'user'],
  ['gen_ai.prompt.1.content', QUESTION],
  ['gen_ai.completion.0.role', 'assistant'],
  ['gen_ai.completion.0.content', ANSWER],
];
const HTTP: readonly Attribute[] = [
  ['http.request.method', 'POST'],
  ['url.full', 'https://example.com/orders'],
  ['server.address', 'example.com'],
  ['server.port', 443],
  ['http.response.status_code', 200],
  ['network.protocol.version', '1.1'],
  ['user_agent.original', 'node'],
];
const TOOL: readonly Attribute[] = [
  ['gen_ai.operation.name', 'execute_tool'],
  ['gen_ai.tool.name', 'get_order'],
  ['gen_ai.tool.call.id', 'call_1'],
  ['gen_ai.tool.type', 'function'],
];
const DATABASE: readonly Attribute[] = [
  ['db.system.name', 'postgresql'],
  ['db.operation.name', 'SELECT'],
  ['db.collection.name', 'orders'],
  ['db.query.text', 'SELECT state FROM orders WHERE id = $1'],
  ['server.address', 'db.example.com'],
  ['server.port', 5432],
];
const AGENT: readonly Attribute[] = [
  ['gen_ai.operation.name', 'invoke_agent'],
  ['gen_ai.agent.name', 'orders'],
  ['gen_ai.provider.name', 'openai'],
  ['gen_ai.conversation.id', 'conversation-1'],
];
const EMBEDDINGS: readonly Attribute[] = [
  ['gen_ai.operation.name', 'embeddings'],
  ['gen_ai.provider.name', 'openai'],
  ['gen_ai.request.model', 'text-embedding-3-small'],
  ['gen_ai.usage.input_tokens', 90],
];
const MCP: readonly Attribute[] = [
  ['mcp.method.name', 'tools/call'],
  ['mcp.session.id', 'session-1'],
  ['mcp.protocol.version', '2025-11-25'],
  ['gen_ai.tool.name', 'get_order'],
  ['jsonrpc.request.id', '7'],
  ['network.transport', 'pipe'],
];

/** Spans of a request, repeated in this order. */
export const SPAN_KINDS: Readonly<Record<string, readonly (readonly Attribute[])[]>> = {
  content: [CONTENT],
  chat: [CHAT],
  http: [HTTP],
  // One of each GenAI kind and six plain ones.
  mix: [AGENT, CHAT, EMBEDDINGS, TOOL, MCP, HTTP, HTTP, HTTP, DATABASE, DATABASE, DATABASE],
};

/** Ids of all spans of a body, to be replaced by others before it is sent. */
export const TRACE_MARK: Buffer = Buffer.from('a1a2a3a4a5a6a7a8a9aaabacadaeafb0', 'hex');
export const SPAN_MARK: Buffer = Buffer.from('b1b2b3b4b5b6b7b8', 'hex');

/** A request with `count` spans of the kinds under a name of {@link SPAN_KINDS}. */
export function bodyOf(name: string, count: number): Buffer {
  const kinds = SPAN_KINDS[name];
  if (kinds === undefined)
    throw new Error(`No kind '${name}'; there are ${Object.keys(SPAN_KINDS).join(', ')}`);
  const now = BigInt(Date.now()) * 1_000_000n;
  const spans = Array.from({ length: count }, (_, i) => ({
    traceId: TRACE_MARK.toString('hex'),
    spanId: SPAN_MARK.toString('hex'),
    name: 'span',
    kind: 3,
    startTimeUnixNano: String(now + BigInt(i) * 1_000_000n),
    endTimeUnixNano: String(now + BigInt(i) * 1_000_000n + 800_000_000n),
    attributes: (kinds[i % kinds.length] ?? []).map(([key, value]) => ({
      key,
      value:
        typeof value === 'number'
          ? { intValue: String(value) }
          : { stringValue: `${value}`.replace('92311', `9${i}`) },
    })),
    status: {},
  }));
  const attributes = [
    { key: 'service.name', value: { stringValue: 'orders' } },
    { key: 'host.name', value: { stringValue: 'app-1' } },
  ];
  return encodeProtobuf({
    resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: { name: 'bench' }, spans }] }],
  });
}
