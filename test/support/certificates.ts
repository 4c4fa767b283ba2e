import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate and its key, as files and as their content. */
export interface Identity {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * An authority, a server and a client that it knows, and a stranger that signed for itself. Disposed of, the files go.
 */
export interface Certificates extends Disposable {
  readonly authorityFile: string;
  readonly authority: Buffer;
  readonly server: Identity;
  readonly client: Identity;
  readonly stranger: Identity;
}

const NEW_KEY = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
const BY_AUTHORITY = '-CA authority.pem -CAkey authority.key -CAcreateserial -extfile names';

/** Why there can be no certificates here, for `skip`; `false` when there can. */
export function noOpenssl(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'openssl is not installed';
  }
}

/**
 * Makes certificates for `localhost` and 127.0.0.1, good for a day.
 * @param owner of the server's, who alone may read the key, as Postgres requires. @defaultValue the current user
 */
export function makeCertificates(owner?: { readonly uid: number; readonly gid: number }): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-tls-'));
  // Others may pass through to what is theirs; the keys are closed each by itself.
  chmodSync(folder, 0o755);
  const file = (name: string) => join(folder, name);
  const openssl = (line: string) => {
    execFileSync('openssl', line.split(' '), { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const identity = (name: string): Identity => {
    const [certFile, keyFile] = [file(`${name}.pem`), file(`${name}.key`)];
    chmodSync(keyFile, 0o600);
    return { certFile, keyFile, cert: readFileSync(certFile), key: readFileSync(keyFile) };
  };
  for (const name of ['authority', 'stranger']) {
    openssl(`req -x509 ${NEW_KEY} -days 1 -keyout ${name}.key -out ${name}.pem -subj /CN=${name}`);
  }
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  for (const name of ['server', 'client']) {
    openssl(`req ${NEW_KEY} -keyout ${name}.key -out ${name}.csr -subj /CN=${name}`);
    openssl(`x509 -req -in ${name}.csr ${BY_AUTHORITY} -days 1 -out ${name}.pem`);
  }
  const [server, client, stranger] = [identity('server'), identity('client'), identity('stranger')];
  if (owner !== undefined) {
    for (const path of [server.certFile, server.keyFile]) chownSync(path, owner.uid, owner.gid);
  }
  const authorityFile = file('authority.pem');
  return {
    authorityFile,
    authority: readFileSync(authorityFile),
    server,
    client,
    stranger,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
