import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const given = new Set<number>();

/**
 * A port that nobody listens on, for programs that cannot take port 0; another one each time. It is below the range for
 * outgoing connections, which could otherwise take it before the server starts or while it is restarted. A client that
 * keeps retrying could even connect to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    if (given.has(port)) continue;
    const probe = createServer();
    try {
      await once(probe.listen(port, '127.0.0.1'), 'listening');
    } catch {
      continue;
    }
    probe.close();
    await once(probe, 'close');
    given.add(port);
    return port;
  }
}
