/** Servers that others have published, of npm and PyPI: all that is done with a server, by one script. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { driveServer, installPublished } from '../support/drive-server.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';
import { PUBLISHED } from '../support/published-servers.ts';
import { noPython } from '../support/python.ts';
import { tempDir } from '../support/temp-dir.ts';

/** `PUBLISHED_SERVERS=all`, or parts of their names, for others than the usual few. */
const asked = process.env.PUBLISHED_SERVERS?.split(',');
const servers = PUBLISHED.filter(({ spec, kind }) =>
  asked === undefined ? kind !== undefined : asked.some((part) => part === 'all' || spec.includes(part)),
);

describe('published servers', () => {
  const packages = tempDir();
  let collector: OtlpCollector;
  before(async () => {
    collector = await OtlpCollector.start();
    await installPublished(servers, process.env.PUBLISHED_FOLDER ?? packages);
  });
  after(() => collector[Symbol.asyncDispose]());

  for (const [index, server] of servers.entries()) {
    const skip = server.from === 'pypi' && noPython();
    test(`${server.spec}: listed, pinned, linted, called, recorded, replayed, run again live, seen`, {
      skip,
    }, async (t) => {
      const folder = join(packages, `run-${index}`);
      const drive = await driveServer(server, process.env.PUBLISHED_FOLDER ?? packages, folder, collector);
      t.diagnostic(JSON.stringify({ spec: server.spec, ...drive }));
      assert.ok(drive.tools > 0);
      assert.deepEqual(drive, {
        tools: drive.tools,
        pinned: drive.tools,
        lint: 'ok',
        call: drive.call,
        replay: 'same',
        live: 'same',
        spans: server.from === 'npm' ? 2 : undefined,
        twice: 0,
      });
      assert.doesNotMatch(drive.call, /none/);
    });
  }
});
