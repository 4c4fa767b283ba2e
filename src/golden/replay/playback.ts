import type { ServerResponse } from 'node:http';
import type { Golden } from '../file/index.ts';
import { type LoopbackRequest, openLoopback } from './loopback.ts';
import { GoldenPlayer, type PlayerOptions } from './player.ts';

/** A local HTTP server that answers as the provider did in a golden, for clients that take no `fetch`. */
export interface Playback extends AsyncDisposable {
  /** Address for the Anthropic and Gemini clients. */
  readonly url: string;
  /** Address for the `openai` client. */
  readonly baseUrl: string;
  readonly player: GoldenPlayer;
  close(): Promise<void>;
}

/**
 * Plays a golden's provider responses, each once, on a port of the loopback address. A request the golden does not hold
 * is answered with status 409 and the difference, which no SDK takes for anything but an error.
 */
export async function playGolden(golden: Golden, options: PlayerOptions = {}): Promise<Playback> {
  const player = new GoldenPlayer(golden, options);
  const loopback = await openLoopback((request, response) => answer(player, request, response), refuse);
  return { ...loopback, baseUrl: `${loopback.url}/v1`, player };
}

async function answer(
  player: GoldenPlayer,
  { method, path, body }: LoopbackRequest,
  response: ServerResponse,
): Promise<void> {
  const played = await player.fetch(new URL(path, 'http://127.0.0.1'), {
    method,
    ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
  });
  response.writeHead(played.status, Object.fromEntries(played.headers));
  for await (const chunk of played.body ?? []) response.write(chunk);
  response.end();
}

function refuse(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const body = { error: { message, type: 'invalid_request_error', code: 'golden_mismatch', param: null } };
  response.writeHead(409, { 'content-type': 'application/json', 'x-should-retry': 'false' });
  response.end(JSON.stringify(body));
}
