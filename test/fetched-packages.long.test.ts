/** Packages that a command fetches, by the packed package: what is locked, and from whose folder it is run. */
import assert from 'node:assert/strict';
import { type ExecFileException, execFile } from 'node:child_process';
import { chmod, chown, cp, readdir, readFile, realpath, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Consumers } from './support/consumer.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { tempDir } from './support/temp-dir.ts';

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

describe('packages that are fetched', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let consumers: Consumers;
  /** The package, with nothing beside it. */
  let folder: string;
  let url: string;
  /** Filled by the first command that fetches. */
  const cache = join(tempDir(), 'link');
  before(async () => {
    [server, consumers] = await Promise.all([startPostgres(), Consumers.pack()]);
    await symlink(tempDir(), cache);
    url = await server.createMigrated();
    folder = await consumers.install('bare', ['--omit=peer', '--omit=optional']);
  });
  after(async () => {
    await consumers?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  const shipped = () => join(folder, 'node_modules/mcp-observatory');
  /** Asks the database, for which `pg` is fetched. */
  const list = (place: string, from = shipped(), more: NodeJS.ProcessEnv = {}) =>
    new Promise<{ code: unknown; stderr: string }>((resolve) => {
      const args = [join(from, 'dist/lib/cli.js'), 'runs', 'list', '--database-url', url];
      const env = { ...consumers.env, XDG_CACHE_HOME: place, ...more };
      execFile(
        process.execPath,
        args,
        { cwd: tempDir(), env },
        (error: ExecFileException | null, _, stderr) => {
          resolve({ code: error?.code ?? 0, stderr });
        },
      );
    });

  test('their lock files ship: exact versions, integrity of each, and no address of a registry', async () => {
    const locks = join(shipped(), 'config/packages');
    const files = await readdir(locks);
    assert.deepEqual(files.sort(), ['demo.json', 'mcp-server.json', 'pg.json', 'pglite.json']);
    for (const file of files) {
      const text = await readFile(join(locks, file), 'utf8');
      assert.doesNotMatch(text, /:\/\/|resolved/, file);
      const { '': root, ...packages } = (JSON.parse(text) as LockFile).packages;
      assert.ok(root !== undefined && Object.keys(packages).length > 0);
      for (const [path, { version, integrity }] of Object.entries(packages)) {
        assert.match(version ?? '', /^\d+\.\d+\.\d+/, path);
        assert.match(integrity ?? '', /^sha512-[\w+/]{86}==$/, path);
      }
    }
  });

  test('what is fetched is what is locked, in a folder of this user, and is fetched once', async () => {
    const first = await list(cache);
    assert.deepEqual(
      [first.code, /^Fetching pg@\S+ into .*; this is done once\.$/m.test(first.stderr)],
      [0, true],
      first.stderr,
    );
    const [set, ...more] = await readdir(join(cache, 'mcp-observatory'));
    assert.match(set ?? '', /^pg-[0-9a-f]{16}$/);
    assert.deepEqual(more, [], 'nothing is left of the installation');
    for (const path of ['.', set as string]) {
      assert.equal((await stat(join(cache, 'mcp-observatory', path))).mode & 0o777, 0o700, path);
    }
    const { packages } = JSON.parse(
      await readFile(join(shipped(), 'config/packages/pg.json'), 'utf8'),
    ) as LockFile;
    for (const [path, { version }] of Object.entries(packages)) {
      if (path === '') continue;
      const manifest = join(cache, 'mcp-observatory', set as string, path, 'package.json');
      assert.equal(
        (JSON.parse(await readFile(manifest, 'utf8')) as { version: string }).version,
        version,
        path,
      );
    }
    assert.deepEqual(await list(cache), { code: 0, stderr: '' });
  });

  test('npm gets its own settings, but neither tokens of the page nor addresses of databases', async () => {
    const npm = join(tempDir(), 'npm-cli.js');
    await writeFile(npm, `require('node:fs').writeFileSync(__dirname + '/env', JSON.stringify(process.env))`);
    await list(tempDir(), shipped(), {
      npm_execpath: npm,
      npm_config_registry: 'http://127.0.0.1:9/',
      MCP_OBSERVATORY_PAGE_TOKEN: 'secret-of-the-page',
      SAFE_AUDIT_KEY: 'key-of-the-audit-trail',
      MCP_OBSERVATORY_DATABASE_URL: url,
      DATABASE_URL: url,
    });
    const given = JSON.parse(await readFile(join(dirname(npm), 'env'), 'utf8')) as NodeJS.ProcessEnv;
    assert.equal(given.npm_config_registry, 'http://127.0.0.1:9/');
    const ours = Object.keys(given).filter((name) => /^MCP_OBSERVATORY_|^SAFE_|^DATABASE_URL$/.test(name));
    assert.deepEqual(ours, []);
    assert.doesNotMatch(JSON.stringify(given), /secret-of-the-page/);
  });

  test('a package whose bytes are not those of the lock file is refused', async () => {
    const changed = join(folder, 'changed/node_modules/mcp-observatory');
    await cp(shipped(), changed, { recursive: true });
    const lock = join(changed, 'config/packages/pg.json');
    const text = await readFile(lock, 'utf8');
    await writeFile(lock, text.replace(/sha512-[\w+/]{86}==/, `sha512-${'A'.repeat(86)}==`));
    const empty = tempDir();
    const { code, stderr } = await list(empty, changed);
    assert.equal(code, 1);
    assert.match(stderr, /EINTEGRITY/);
    assert.deepEqual(await readdir(join(empty, 'mcp-observatory')), []);
  });

  const isRoot = process.getuid?.() === 0;
  const ways: readonly (readonly [string, RegExp, (open: string, set: string) => Promise<void>])[] = [
    ['its folder belongs to another user', /belongs to user 65534/, (_, set) => chown(set, 65_534, 65_534)],
    ['the cache belongs to another user', /belongs to user 65534/, (open) => chown(open, 65_534, 65_534)],
    ['others may write to its folder', /others may write to/, (_, set) => chmod(set, 0o777)],
    [
      'a group may write to the folder of all of them',
      /others may write to/,
      (_, set) => chmod(dirname(set), 0o770),
    ],
    ['everybody may replace the cache', /everybody may write to/, (open) => chmod(open, 0o777)],
  ];
  for (const [what, reason, make] of ways) {
    test(`it is not run where ${what}`, { skip: !isRoot && 'only root can give a file away' }, async () => {
      const open = join(tempDir(), 'cache');
      await cp(await realpath(cache), open, { recursive: true });
      const root = join(open, 'mcp-observatory');
      const set = join(root, (await readdir(root))[0] as string);
      await writeFile(join(set, 'node_modules/pg/package.json'), '{"main":"planted.cjs"}');
      await writeFile(join(set, 'node_modules/pg/planted.cjs'), 'console.error("planted was run")');
      assert.match((await list(open)).stderr, /planted was run/);
      await make(open, set);
      const { code, stderr } = await list(open);
      assert.equal(code, 1, stderr);
      assert.match(stderr, reason);
      assert.match(stderr, /XDG_CACHE_HOME.*MISSING_PEER/s);
      assert.doesNotMatch(stderr, /planted was run/);
    });
  }

  test('commands share what they need', async () => {
    const env = { ...consumers.env, XDG_CACHE_HOME: join(tempDir(), 'cache') };
    const cwd = tempDir();
    const fetchedBy = (...args: readonly string[]) =>
      new Promise<string[]>((resolve, reject) => {
        const command = [join(shipped(), 'dist/lib/cli.js'), ...args];
        execFile(process.execPath, command, { cwd, env }, (error, _, stderr) => {
          if (error) reject(error);
          else resolve([...stderr.matchAll(/^Fetching (@?[\w/-]+)/gm)].map(([, name]) => name ?? ''));
        });
      });
    assert.deepEqual(await fetchedBy('db', 'migrate'), ['@electric-sql/pglite']);
    assert.deepEqual(await fetchedBy('demo'), ['@modelcontextprotocol/sdk']);
    assert.deepEqual(await fetchedBy('runs', 'list'), []);
  });
});
