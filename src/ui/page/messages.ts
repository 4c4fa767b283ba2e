import { foldCalls, type RunSpan, type Said } from '../../runs/index.ts';
import { withoutServers } from './calls.ts';

/** A JSON-RPC message of a run, rebuilt from the span of its request. */
export interface RpcMessage {
  readonly direction: 'sent' | 'received' | 'never sent';
  readonly atMs: number;
  readonly span: RunSpan;
  /** The message; undefined where the span does not hold its content. */
  readonly json: string | undefined;
  readonly isError: boolean;
}

/** One line of the list: a message, or the messages of equal calls that succeeded. */
export interface RpcLine {
  readonly message: RpcMessage;
  /** More than one where calls are folded. */
  readonly calls: readonly RunSpan[];
}

/** The messages of a run in the order of time; equal calls are folded unless their first span is open. */
export function rpcLines(
  spans: readonly RunSpan[],
  words: ReadonlyMap<string, Said>,
  open: ReadonlySet<string>,
): readonly RpcLine[] {
  const requests = withoutServers(spans).filter(({ method }) => method !== null);
  const lines = foldCalls(requests).flatMap((calls): RpcLine[] => {
    const [first] = calls as [RunSpan];
    const head = toRpcMessages(first, words.get(first.id));
    if (calls.length === 1) return head.map((message) => ({ message, calls }));
    const line = { message: head[0] as RpcMessage, calls };
    if (!open.has(first.id)) return [line];
    return [
      line,
      ...calls.flatMap((call) =>
        toRpcMessages(call, words.get(call.id)).map((message) => ({ message, calls: [call] })),
      ),
    ];
  });
  return lines.sort((a, b) => a.message.atMs - b.message.atMs);
}

/** Request and response of one span. */
export function toRpcMessages(span: RunSpan, said: Said | undefined): readonly RpcMessage[] {
  const isError = span.statusCode === 'error';
  const isNeverSent = span.status === 'denied';
  const request: RpcMessage = {
    direction: isNeverSent ? 'never sent' : 'sent',
    atMs: span.startMs,
    span,
    json:
      said?.arguments === undefined || said.cut?.arguments !== undefined ? undefined : toRequest(span, said),
    isError: false,
  };
  if (isNeverSent || span.method?.startsWith('notifications/')) return [request];
  const isKnown = said?.result !== undefined && said.cut?.result === undefined;
  const response: RpcMessage = {
    direction: 'received',
    atMs: span.endMs,
    span,
    json: isKnown ? toResponse(span, said) : undefined,
    isError,
  };
  return [request, response];
}

function toRequest({ method, tool, requestId }: RunSpan, said: Said): string {
  const params = { ...(tool !== null && { name: tool }), arguments: value(said.arguments) };
  return JSON.stringify({ jsonrpc: '2.0', ...toIdMember(requestId), method, params });
}

function toResponse({ requestId }: RunSpan, said: Said): string {
  return JSON.stringify({ jsonrpc: '2.0', ...toIdMember(requestId), result: value(said.result) });
}

/** An id is a number or a text; spans hold it as text. */
function toIdMember(id: string | null): object {
  if (id === null) return {};
  return { id: /^\d{1,15}$/u.test(id) ? Number(id) : id };
}

function value(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return text;
  }
}
