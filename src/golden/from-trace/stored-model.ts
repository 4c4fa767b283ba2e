import type { ServerResponse } from 'node:http';
import { apiOfPath, type WrittenAnswer } from '../../wire/index.ts';
import { type Loopback, openLoopback } from '../replay/index.ts';
import type { StoredRun, StoredTurn } from './stored-run.ts';

/** Base URL for a provider's SDK, by provider: OpenAI's holds the version, the others' do not. */
export function baseUrlOf(provider: string, { url }: Loopback): string {
  return provider === 'openai' ? `${url}/v1` : url;
}

/** Answers each request with the next turn of a run, whatever it asks, in the form of the API it was sent to. */
export async function playModel(run: StoredRun): Promise<Loopback> {
  let next = 0;
  return await openLoopback((request, response) => {
    const turn = run.turns[next];
    next += 1;
    if (turn === undefined)
      return fail(response, 410, `The trace holds ${run.turns.length} model calls and all are used`);
    if (turn.output !== undefined) {
      const api = apiOfPath(request.path);
      if (api === undefined) return fail(response, 404, `No API is known at ${request.path}`);
      const events = api.writeStream(writtenAnswer(turn, next));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''));
      return;
    }
    const status = Number(turn.errorType);
    if (Number.isInteger(status) && status >= 400 && status < 600)
      fail(response, status, 'The provider refused the request');
    else response.destroy();
  });
}

/** What a turn said. Reasoning and its signatures are not in the trace. */
function writtenAnswer(
  { output, responseId, model, finishReason, usage }: StoredTurn,
  index: number,
): WrittenAnswer {
  const parts = output?.parts ?? [];
  return {
    id: responseId ?? `trace-${index}`,
    model,
    text: parts.map((part) => (part.type === 'text' ? part.content : '')).join(''),
    calls: parts.flatMap((part, at) => {
      if (part.type !== 'tool_call') return [];
      const { id = `call_${at}`, name = '', arguments: args = {} } = part;
      return [{ id, name, argumentsText: typeof args === 'string' ? args : JSON.stringify(args) }];
    }),
    finishReason,
    usage,
  };
}

function fail(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message, type: 'error', code: null, param: null } }));
}
