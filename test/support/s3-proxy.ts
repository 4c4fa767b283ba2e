/** A proxy that counts the requests of S3 and answers some of them with silence, as a network does. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';

export interface S3Proxy extends AsyncDisposable {
  readonly url: string;
  /** Method and path of the requests so far. */
  readonly requests: readonly string[];
  /** Called before each request is passed on; whether its answer is lost, which none is at first. */
  losesAnswer: (method: string, url: string) => boolean | Promise<boolean>;
}

export async function startS3Proxy(port: number): Promise<S3Proxy> {
  const requests: string[] = [];
  const server = createServer(async (asked, answer) => {
    const { method = '', url = '' } = asked;
    requests.push(`${method} ${url}`);
    const isLost = await proxy.losesAnswer(method, url);
    const sent = request(
      { port, host: '127.0.0.1', method, path: url, headers: asked.headers },
      (received: IncomingMessage) => {
        if (isLost) {
          received.resume();
          received.once('end', () => asked.socket.destroy());
          return;
        }
        answer.writeHead(received.statusCode ?? 500, received.headers);
        received.pipe(answer);
      },
    );
    sent.on('error', () => asked.socket.destroy());
    asked.once('close', () => {
      if (!asked.complete) sent.destroy();
    });
    asked.pipe(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No TCP port is free');
  const proxy: S3Proxy = {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    losesAnswer: () => false,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
