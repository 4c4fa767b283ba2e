import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate for `localhost`, its key, and the authority that signed it, as files. */
export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Why no certificates can be made here, for `skip`; `false` when they can. */
export function noOpenssl(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'openssl is not installed';
  }
}

/** Makes an authority of its own and a certificate by it. The key is readable for `owner` only, as Postgres demands. */
export function makeCertificates(
  folder: string,
  owner: { uid: number; gid: number } | undefined,
): Certificates {
  const file = (name: string) => join(folder, name);
  const openssl = (line: string) => {
    execFileSync('openssl', line.split(' '), { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  openssl(`req -x509 ${newKey} -keyout ca.key -out ca.crt -days 2 -subj /CN=test-authority`);
  openssl(`req ${newKey} -keyout server.key -out server.csr -subj /CN=localhost`);
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost\n');
  openssl(
    'x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt',
  );
  chmodSync(file('server.key'), 0o600);
  if (owner !== undefined)
    for (const name of ['server.key', 'server.crt']) chownSync(file(name), owner.uid, owner.gid);
  return { ca: file('ca.crt'), cert: file('server.crt'), key: file('server.key') };
}
