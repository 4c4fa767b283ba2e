/**
 * Servers that others have published, on npm and PyPI: all that is done with a server, by one script. Twenty of them;
 * `OBSERVATORY_TEST_SIZE=million` drives all.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { driveServer, installPublished } from '../support/drive-server.ts';
import { PUBLISHED } from '../support/published-servers.ts';
import { noPython } from '../support/python.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Parts of their names, for some of them. */
const asked = process.env.PUBLISHED_SERVERS?.split(',') ?? [''];
const isAll = asked[0] !== '' || process.env.OBSERVATORY_TEST_SIZE === 'million';
const servers = PUBLISHED.filter(
  ({ spec, isCostly }) => (isAll || isCostly !== true) && asked.some((part) => spec.includes(part)),
);

// A drive waits for its server to start and to end most of the time.
describe('published servers', { concurrency: 4 }, () => {
  const runs = tempDir();
  const packages = process.env.PUBLISHED_FOLDER ?? runs;
  let unreached: string | undefined;
  before(async () => {
    unreached = await installPublished(servers, packages);
  });
  // So many files may take half a minute to remove on a busy disk: not at the end of the process, which is limited.
  after(() => rm(join(runs, 'node_modules'), { recursive: true, force: true }), { timeout: 120_000 });

  for (const [index, server] of servers.entries()) {
    const skip = server.from === 'pypi' && noPython();
    test(`${server.spec}: listed, pinned, linted, called, recorded, replayed, run again live, seen`, {
      skip,
    }, async (t) => {
      if (server.from === 'npm' && unreached !== undefined) return t.skip(unreached);
      const drive = await driveServer(server, packages, join(runs, `run-${index}`));
      t.diagnostic(JSON.stringify({ spec: server.spec, ...drive }));
      assert.ok(drive.tools > 0);
      assert.deepEqual(drive, {
        tools: drive.tools,
        pinned: drive.tools,
        lint: 'ok',
        call: drive.call,
        replay: 'same',
        live: 'same',
        spans: server.from === 'npm' && server.unseen === undefined ? 2 : undefined,
        twice: 0,
      });
      assert.doesNotMatch(drive.call, /none/);
    });
  }
});
