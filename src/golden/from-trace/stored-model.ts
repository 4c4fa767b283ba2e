import type { ServerResponse } from 'node:http';
import { type Loopback, openLoopback } from '../replay/index.ts';
import { anthropicEvents } from './anthropic-events.ts';
import { geminiEvents } from './gemini-events.ts';
import { openAiEvents } from './openai-events.ts';
import type { StoredRun, StoredTurn } from './stored-run.ts';

/** The events a provider would have streamed for a turn. */
export type TurnEvents = (turn: StoredTurn, index: number) => readonly string[];

const EVENTS: Readonly<Record<string, TurnEvents>> = {
  openai: openAiEvents,
  anthropic: anthropicEvents,
  gemini: geminiEvents,
};

/** Base URL for a provider's SDK, by provider: OpenAI's holds the version, the others' do not. */
export function baseUrlOf(provider: string, { url }: Loopback): string {
  return provider === 'openai' ? `${url}/v1` : url;
}

/** Answers each request with the next turn of a run, whatever it asks. */
export async function playModel(run: StoredRun): Promise<Loopback> {
  const events = EVENTS[run.provider] as TurnEvents;
  let next = 0;
  return await openLoopback((_request, response) => {
    const turn = run.turns[next];
    next += 1;
    if (turn === undefined)
      return fail(response, 410, `The trace holds ${run.turns.length} model calls and all are used`);
    if (turn.output !== undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events(turn, next).join(''));
      return;
    }
    const status = Number(turn.errorType);
    if (Number.isInteger(status) && status >= 400 && status < 600)
      fail(response, status, 'The provider refused the request');
    else response.destroy();
  });
}

function fail(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message, type: 'error', code: null, param: null } }));
}
