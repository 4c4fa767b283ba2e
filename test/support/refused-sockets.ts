import dgram from 'node:dgram';
import net from 'node:net';

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/;

/**
 * Restricts this process to loopback: connections to other machines, lookups of their names and datagrams are refused.
 * @param refused called for each attempt.
 */
export function refuseSockets(refused: (what: string) => void): void {
  const connect = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]) {
    const [first] = args.flat() as [unknown];
    const target = (typeof first === 'object' && first !== null ? first : {}) as {
      host?: string;
      path?: string;
    };
    const host = target.host ?? (typeof args.flat()[1] === 'string' ? String(args.flat()[1]) : 'localhost');
    if (target.path === undefined && !LOOPBACK.test(host)) {
      refused(`a connection to ${host}`);
      throw new Error(`no network: a connection to ${host} was refused`);
    }
    return (connect as (...all: unknown[]) => net.Socket).apply(this, args);
  } as typeof connect;

  dgram.Socket.prototype.send = () => {
    refused('a datagram');
    throw new Error('no network: a datagram was refused');
  };
}
