import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate and its key, as files and as their content. */
export interface Identity {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** An authority, a server and a client that it knows, and a client that it does not. */
export interface Certificates extends Disposable {
  readonly authorityFile: string;
  readonly authority: Buffer;
  readonly server: Identity;
  readonly client: Identity;
  readonly stranger: Identity;
}

/** Why there can be no certificates here, for `skip`; `false` when there can. */
export function noOpenssl(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'no openssl';
  }
}

/** Makes certificates for `localhost` and 127.0.0.1, good for a day. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-tls-'));
  const file = (name: string) => join(folder, name);
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const selfSigned = (name: string) =>
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-days',
      '1',
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.pem`),
      '-subj',
      `/CN=${name}`,
    );
  selfSigned('authority');
  selfSigned('stranger');
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  for (const name of ['server', 'client']) {
    openssl(
      'req',
      ...newKey,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.csr`),
      '-subj',
      `/CN=${name}`,
    );
    const by = ['-CA', file('authority.pem'), '-CAkey', file('authority.key'), '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      file(`${name}.csr`),
      ...by,
      '-days',
      '1',
      '-extfile',
      file('names'),
      '-out',
      file(`${name}.pem`),
    );
  }
  const identity = (name: string): Identity => ({
    certFile: file(`${name}.pem`),
    keyFile: file(`${name}.key`),
    cert: readFileSync(file(`${name}.pem`)),
    key: readFileSync(file(`${name}.key`)),
  });
  return {
    authorityFile: file('authority.pem'),
    authority: readFileSync(file('authority.pem')),
    server: identity('server'),
    client: identity('client'),
    stranger: identity('stranger'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
