import type { Server as NetServer } from 'node:net';
import { ObservatoryError } from '../../base/index.ts';

/** Listening address: a host (IPv6 without brackets) and a port; 0 is any free one. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** @throws ObservatoryError `INVALID_OPTION` when the address cannot be bound. */
export async function listen(server: NetServer, { host, port }: Address): Promise<Address> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  }).catch((error: Error) => {
    throw new ObservatoryError('INVALID_OPTION', `Cannot listen at ${host}:${port}: ${error.message}`, {
      cause: error,
    });
  });
  const bound = server.address();
  return { host, port: typeof bound === 'object' && bound !== null ? bound.port : port };
}

/** An address as text: `127.0.0.1:4318`, `[::1]:4318`. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether only this machine reaches a host: its name, or an address of the loopback interface. */
export function isLoopback(host: string): boolean {
  return /^(?:.+\.)?localhost$/i.test(host) || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
