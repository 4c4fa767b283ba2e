import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ObservatoryError } from '../../base/index.ts';

/** Paths of PEM files. */
export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
  /** Certificate authority of clients; with it, clients need a certificate from it. */
  readonly clientCa?: string | undefined;
}

/** TLS options of Node's servers. */
export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly requestCert?: true;
  readonly rejectUnauthorized?: true;
  readonly minVersion: 'TLSv1.2';
}

/** @throws ObservatoryError `INVALID_OPTION` when a file cannot be read or has no usable certificate or key. */
export async function readTls({ cert, key, clientCa }: TlsOptions): Promise<TlsFiles> {
  const files = {
    cert: await readPem(cert, 'tls-cert'),
    key: await readPem(key, 'tls-key'),
    minVersion: 'TLSv1.2',
  } as const;
  const ca = clientCa === undefined ? undefined : await readPem(clientCa, 'tls-client-ca');
  try {
    createSecureContext({ ...files, ...(ca === undefined ? {} : { ca }) });
  } catch (error) {
    const text = (error as Error).message;
    throw new ObservatoryError('INVALID_OPTION', `The TLS files ${cert} and ${key} do not work: ${text}`);
  }
  return ca === undefined ? files : { ...files, ca, requestCert: true, rejectUnauthorized: true };
}

async function readPem(path: string, flag: string): Promise<Buffer> {
  return readFile(path).catch((error: Error) => {
    throw new ObservatoryError('INVALID_OPTION', `Cannot read the file of --${flag}: ${error.message}`);
  });
}
