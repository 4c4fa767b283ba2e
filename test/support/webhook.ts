import { createServer } from 'node:http';
import { type ListeningServer, listen } from './http-server.ts';

export interface Webhook extends ListeningServer {
  /** What was posted, the newest last. */
  readonly posted: readonly Record<string, unknown>[];
}

/** A webhook that keeps what is posted to it. @param status what it answers. */
export async function startWebhook(status = 200): Promise<Webhook> {
  const posted: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      posted.push(JSON.parse(body) as Record<string, unknown>);
      response.writeHead(status).end();
    });
  });
  return { ...(await listen(server)), posted };
}
