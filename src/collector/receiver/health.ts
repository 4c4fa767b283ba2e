import type { ServerResponse } from 'node:http';

/** Health information for load balancers and people. */
export interface Health {
  /** Whether it can accept spans and make them safe. */
  readonly isReady: boolean;
  /** The document of `/readyz`. */
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Answers `/healthz`, for liveness, and `/readyz` for readiness: 200 or 503. Neither needs a token, and both expose
 * only numbers.
 *
 * @returns whether it was one of them.
 */
export function answerHealth(path: string, health: () => Health, response: ServerResponse): boolean {
  if (path === '/healthz') sendJson(response, 200, { status: 'ok' });
  else if (path === '/readyz') {
    const { isReady, details } = health();
    sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', ...details });
  } else return false;
  return true;
}

function sendJson(response: ServerResponse, status: number, document: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(document)}\n`);
}
