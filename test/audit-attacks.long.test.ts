import assert from 'node:assert/strict';
import fs, {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gateCommand } from '../src/cli/gate.ts';
import {
  AuditLog,
  type AuditRun,
  askResultToWire,
  gateClient,
  guardedCall,
  PolicyGate,
  PolicyHost,
  verifyAudit,
} from '../src/policy/index.ts';
import { auditRecords } from './support/audit-records.ts';
import { serveShelf } from './support/example-servers.ts';
import { tryGhost } from './support/ghost.ts';
import { docTool } from './support/policy-fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempDir } from './support/temp-dir.ts';

const KEY = 'the key that the attacker does not have';

const problemsOf = async (dir: string, ...expect: Parameters<typeof verifyAudit>[2] & object[]) =>
  (await verifyAudit(dir, KEY, expect)).problems;
const filesOf = (dir: string, start: string) =>
  readdirSync(dir)
    .filter((name) => name.startsWith(start))
    .sort();
const linesOf = (path: string) => readFileSync(path, 'utf8').trim().split('\n');
const cut = (path: string, count: number) =>
  writeFileSync(path, `${linesOf(path).slice(0, -count).join('\n')}\n`);

function writeRuns(log: AuditLog, count: number): void {
  for (let i = 0; i < count; i += 1) {
    const run = log.startRun({ number: i });
    run.record('call_decided', { tool: 'pay' });
    run.finish();
  }
}

function openRun(log: AuditLog): AuditRun {
  const run = log.startRun();
  for (let i = 0; i < 4; i += 1) run.record('call_started', { i });
  return run;
}

/** What someone who can write to the directory does, without the key and without copies from before. */
const ATTACKS: Readonly<Record<string, (dir: string) => void>> = {
  'the last three runs deleted, the chain cut, the head rewritten': (dir) => {
    const chain = filesOf(dir, 'chain-')[0] as string;
    for (const file of filesOf(dir, 'run-').slice(-4, -1)) rmSync(join(dir, file));
    cut(join(dir, chain), 7);
    const last = JSON.parse(linesOf(join(dir, chain)).at(-1) as string) as { hash: string; seq: number };
    const path = join(dir, filesOf(dir, 'head-')[0] as string);
    const head = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    const records = last.seq + 1;
    writeFileSync(
      path,
      JSON.stringify({ ...head, records: 3 * records, chain_records: records, chain_head: last.hash }),
    );
  },
  'the tail of an open run cut': (dir) => cut(join(dir, filesOf(dir, 'run-').at(-1) as string), 2),
  'an open run removed': (dir) => rmSync(join(dir, filesOf(dir, 'run-').at(-1) as string)),
  'an open run emptied': (dir) => writeFileSync(join(dir, filesOf(dir, 'run-').at(-1) as string), ''),
  'an open run replaced by a folder': (dir) => {
    const path = join(dir, filesOf(dir, 'run-').at(-1) as string);
    rmSync(path);
    mkdirSync(path);
  },
  'a run replaced by a device without end': (dir) => {
    const path = join(dir, filesOf(dir, 'run-')[0] as string);
    rmSync(path);
    symlinkSync('/dev/zero', path);
  },
  'an open run removed from the chain too': (dir) => {
    rmSync(join(dir, filesOf(dir, 'run-').at(-1) as string));
    cut(join(dir, filesOf(dir, 'chain-')[0] as string), 1);
  },
  'the head removed': (dir) => rmSync(join(dir, filesOf(dir, 'head-')[0] as string)),
  'the list of writers removed': (dir) => rmSync(join(dir, 'writers'), { recursive: true }),
};

for (const [what, attack] of Object.entries(ATTACKS)) {
  test(`found without a copy of the trail: ${what}`, async () => {
    const dir = tempDir();
    const log = new AuditLog({ dir, key: KEY });
    writeRuns(log, 5);
    const run = openRun(log);
    assert.deepEqual(await problemsOf(dir), []);
    attack(dir);
    assert.notDeepEqual(await problemsOf(dir), []);
    run.finish();
    log.close();
  });
}

test('a writer that was removed with all its files is found, the last one too', async () => {
  for (const place of [0, 1, 2]) {
    const dir = tempDir();
    const added: string[][] = [];
    for (let i = 0; i < 3; i += 1) {
      const before = new Set(readdirSync(dir));
      using log = new AuditLog({ dir, key: KEY });
      writeRuns(log, 2);
      added.push(readdirSync(dir).filter((name) => !before.has(name) && name !== 'writers'));
    }
    assert.deepEqual(await problemsOf(dir), []);
    for (const name of added[place] ?? []) rmSync(join(dir, name));
    assert.match(JSON.stringify(await problemsOf(dir)), /is missing: its files were removed/);
  }
});

test('a whole older state is intact by itself; --expect finds it by a report or by the hash of a record', async () => {
  const dir = tempDir();
  const old = tempDir();
  using log = new AuditLog({ dir, key: KEY });
  writeRuns(log, 2);
  const run = openRun(log);
  cpSync(dir, old, { recursive: true });
  run.record('call_finished');
  const env = { SAFE_AUDIT_KEY: KEY };
  const kept = join(tempDir(), 'kept.json');
  writeFileSync(kept, (await runCommand(gateCommand, ['verify', dir, '--json'], [], env)).stdout);
  const { head } = run;
  run.finish();
  writeRuns(log, 1);

  for (const expect of [kept, head]) {
    const now = await runCommand(gateCommand, ['verify', dir, '--expect', expect], [], env);
    assert.deepEqual([now.code, now.stdout], [0, '4 runs, 16 records: intact\n']);
    const rolledBack = await runCommand(gateCommand, ['verify', old, '--expect', expect], [], env);
    assert.equal(rolledBack.code, 1);
    assert.match(rolledBack.stdout, /records are missing at its end|it was removed/);
  }
  assert.deepEqual(await problemsOf(old), [], 'by itself an older state cannot be told from a younger one');
  await assert.rejects(runCommand(gateCommand, ['verify', dir, '--expect', join(dir, 'none')], [], env), {
    code: 'INVALID_OPTION',
  });
});

test('processes that start at once are all in the list of writers', async () => {
  const dir = tempDir();
  const logs = Array.from({ length: 8 }, () => new AuditLog({ dir, key: KEY }));
  for (const log of logs) writeRuns(log, 1);
  assert.deepEqual(await problemsOf(dir), []);
  const after = await verifyAudit(dir, KEY);
  assert.equal(after.head.writers, 8);
  for (const log of logs) log.close();
  const versions = readdirSync(join(dir, 'writers')).map((name) => [
    name,
    statSync(join(dir, 'writers', name)).size,
  ]);
  assert.deepEqual(
    versions.filter(([, size]) => size !== 0).map(([name]) => name),
    ['8.json'],
  );
});

/** Replaces functions of `node:fs` for every module until disposed. */
function patched<A extends unknown[], R>(
  names: readonly string[],
  replace: (real: (...args: A) => R) => (...args: A) => R,
) {
  const all = fs as unknown as Record<string, (...args: A) => R>;
  const real = names.map((name) => all[name] as (...args: A) => R);
  for (const [index, name] of names.entries()) all[name] = replace(real[index] as (...args: A) => R);
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]() {
      for (const [index, name] of names.entries()) all[name] = real[index] as (...args: A) => R;
      syncBuiltinESMExports();
    },
  };
}

const CHANGES = [
  'openSync',
  'writeSync',
  'ftruncateSync',
  'mkdirSync',
  'writeFileSync',
  'linkSync',
  'rmSync',
];

test('a process that dies between any two changes of the file system leaves no problem', async () => {
  let isDone = false;
  for (let changes = 0; !isDone; changes += 1) {
    const dir = tempDir();
    using first = new AuditLog({ dir, key: KEY });
    writeRuns(first, 1);
    let left = changes;
    {
      using _ = patched(CHANGES, (real) => (...args: unknown[]) => {
        left -= 1;
        if (left < 0) throw new Error('dead');
        return real(...args);
      });
      try {
        using log = new AuditLog({ dir, key: KEY });
        writeRuns(log, 1);
        isDone = true;
      } catch {
        // Died.
      }
    }
    assert.deepEqual(await problemsOf(dir), [], `after ${changes} changes`);
    using next = new AuditLog({ dir, key: KEY });
    writeRuns(next, 1);
    assert.deepEqual(await problemsOf(dir), [], `after ${changes} changes and another writer`);
  }
});

type Write = [fd: number, data: Buffer, offset: number, length: number, position: number];

/**
 * A disk with room for so many more bytes: it takes what fits, then fails.
 * @param rewrites whether what is there can be overwritten, as on most file systems.
 */
function smallDisk(room: number, rewrites = true) {
  let left = room;
  return patched<Write, number>(['writeSync'], (real) => (fd, data, offset, length, position) => {
    if (rewrites && position + length <= fs.fstatSync(fd).size)
      return real(fd, data, offset, length, position);
    const count = Math.min(length, left);
    if (count === 0) throw new Error('ENOSPC: no space left on device, write');
    left -= count;
    return real(fd, data, offset, count, position);
  });
}

test('a disk that takes a record in pieces gets it whole', async () => {
  const dir = tempDir();
  {
    using _ = patched<Write, number>(
      ['writeSync'],
      (real) => (fd, data, offset, length, position) => real(fd, data, offset, Math.min(length, 7), position),
    );
    using log = new AuditLog({ dir, key: KEY });
    writeRuns(log, 2);
  }
  assert.deepEqual(await problemsOf(dir), []);
});

test('at whatever byte the disk is full, no part of a record stays, and the trail goes on when there is room', async () => {
  const fills = Array.from({ length: 13 }, (_, index) => [index * 29, true] as const);
  for (const [room, rewrites] of [...fills, [700, false] as const]) {
    const dir = tempDir();
    using log = new AuditLog({ dir, key: KEY });
    const run = log.startRun();
    const path = join(dir, `run-${run.id}.jsonl`);
    const size = statSync(path).size;
    {
      using _ = smallDisk(room, rewrites);
      const text = 'x'.repeat(400);
      assert.throws(() => run.record('call_started', { text }), { code: 'AUDIT_UNAVAILABLE' });
    }
    assert.equal(statSync(path).size, size);
    if (rewrites) assert.deepEqual(await problemsOf(dir), []);
    run.record('call_decided');
    run.finish();
    assert.deepEqual(await problemsOf(dir), []);
  }
});

test('what has happened is kept until it can be written, and nothing is recorded before it', async () => {
  const dir = tempDir();
  using log = new AuditLog({ dir, key: KEY });
  const run = log.startRun();
  const path = join(dir, `run-${run.id}.jsonl`);
  {
    using _ = smallDisk(0);
    run.settle('call_finished', { outcome: 'accepted' });
    assert.equal(run.problem?.code, 'AUDIT_UNAVAILABLE');
    assert.throws(() => run.record('call_decided'), { code: 'AUDIT_UNAVAILABLE' });
  }
  run.record('call_decided');
  assert.equal(run.problem, undefined);
  run.finish();
  const events = linesOf(path).map((line) => (JSON.parse(line) as { event: string }).event);
  assert.deepEqual(events, ['run_started', 'call_finished', 'call_decided', 'run_finished']);
  assert.deepEqual(await problemsOf(dir), []);
});

test('a record after the end of a run or of the log is refused, and reaches no other file', async () => {
  const dir = tempDir();
  const log = new AuditLog({ dir, key: KEY });
  const run = log.startRun();
  const open = log.startRun();
  run.finish();
  // Takes the descriptor that the run had.
  const other = join(tempDir(), 'other');
  const fd = fs.openSync(other, 'w');
  assert.throws(() => run.record('call_started'), { code: 'AUDIT_UNAVAILABLE' });
  run.settle('call_finished');
  assert.equal(run.problem?.code, 'AUDIT_UNAVAILABLE');
  log.close();
  assert.throws(() => open.record('call_started'), { code: 'AUDIT_UNAVAILABLE' });
  assert.throws(() => log.startRun(), { code: 'AUDIT_UNAVAILABLE' });
  fs.closeSync(fd);
  assert.equal(readFileSync(other, 'utf8'), '');
  assert.deepEqual(await problemsOf(dir), []);
});

test('a log that cannot be entered into the list of writers does not open; nothing that it left is a problem', async () => {
  const dir = tempDir();
  using first = new AuditLog({ dir, key: KEY });
  writeRuns(first, 1);
  {
    using _ = patched(['linkSync'], () => () => {
      throw Object.assign(new Error('no links here'), { code: 'EPERM' });
    });
    assert.throws(() => new AuditLog({ dir, key: KEY }), { code: 'AUDIT_UNAVAILABLE' });
  }
  assert.throws(() => new AuditLog({ dir, key: 'another key' }), /written with another key/);
  using third = new AuditLog({ dir, key: KEY });
  writeRuns(third, 1);
  assert.deepEqual(await problemsOf(dir), []);
  assert.ok(existsSync(join(dir, 'writers', '2.json')));
});

describe('a call that was made before the disk was full is reported as made', () => {
  const ARGS = { doc_id: 'a' };
  const RESULT = { content: [], structuredContent: { doc_id: 'a', content: 'text' } };
  const policy = { s: ['get'] };
  const plan = JSON.stringify({ type: 'call_tool', server: 's', tool: 'get', args: ARGS });

  /** A server during whose first call the disk fills up. */
  function fillingServer(result: () => unknown = () => RESULT) {
    const state = { calls: 0, disk: { [Symbol.dispose]: () => {} } };
    const call = async () => {
      state.calls += 1;
      if (state.calls === 1) state.disk = smallDisk(0);
      return result();
    };
    return { ...state, state, call, [Symbol.dispose]: () => state.disk[Symbol.dispose]() };
  }

  test('guardedCall and gateClient return its result, and the next call is not made until its record is written', async () => {
    const dir = tempDir();
    using log = new AuditLog({ dir, key: KEY });
    const audit = log.startRun();
    using gate = new PolicyGate({ policy, tools: { s: { tools: [docTool('get')] } } });
    using server = fillingServer();
    const call = { server: 's', tool: 'get', args: ARGS };
    const made = await guardedCall(call, server.call, { gate, audit });
    assert.deepEqual(made.result, RESULT);
    assert.equal(made.auditProblem?.code, 'AUDIT_UNAVAILABLE');
    const client = gateClient(
      { listTools: async () => ({ tools: [docTool('get')] }), callTool: (_params: object) => server.call() },
      gate,
      { server: 's', audit },
    );
    const again = () => client.callTool({ name: 'get', arguments: ARGS });
    await assert.rejects(again(), { code: 'AUDIT_UNAVAILABLE' });
    assert.equal(server.state.calls, 1);
    server.state.disk[Symbol.dispose]();
    assert.deepEqual(await again(), RESULT);
    assert.equal(audit.problem, undefined);
    audit.finish();
    const events = auditRecords(dir).map((record) => record.event);
    const one = ['call_decided', 'call_started', 'call_finished'];
    assert.deepEqual(events, ['run_started', ...one, ...one, 'run_finished']);
    assert.deepEqual(await problemsOf(dir), []);
  });

  test('the error of a tool that fails is thrown, not that of the disk', async () => {
    using log = new AuditLog({ dir: tempDir() });
    using gate = new PolicyGate({ policy, tools: { s: { tools: [docTool('get')] } } });
    using server = fillingServer(() => {
      throw new Error('the tool failed');
    });
    const call = { server: 's', tool: 'get', args: ARGS };
    await assert.rejects(guardedCall(call, server.call, { gate, audit: log.startRun() }), /the tool failed/);
  });

  test('PolicyHost returns its result and says that the run is not on record', async () => {
    const dir = tempDir();
    using audit = new AuditLog({ dir, key: KEY });
    using gate = new PolicyGate({ policy });
    using server = fillingServer();
    const listTools = async () => [docTool('get')];
    const servers = { s: { listTools, callTool: server.call, close: async () => {} } };
    await using host = await PolicyHost.open({ gate, planner: { plan: async () => plan }, servers, audit });
    const result = await host.askOnce('Get a');
    assert.equal(result.type, 'tool_result');
    assert.match(result.auditProblem ?? '', /no space left/);
    assert.match(String(askResultToWire(result).audit_problem), /no space left/);
    server.state.disk[Symbol.dispose]();
    const report = await verifyAudit(dir, KEY);
    assert.deepEqual([report.problems, report.unfinished.length], [[], 1]);
  });

  test('a run of mcpGhost tells the call that it made, and denies the next', async () => {
    await using shelf = await serveShelf('mcp-sharepoint');
    using gate = new PolicyGate({ policy: { 'mcp-sharepoint': ['fetch_sharepoint_doc'] } });
    using audit = new AuditLog({ dir: tempDir() });
    const fetch = { name: 'mcp-sharepoint__fetch_sharepoint_doc', arguments: { doc_id: 'sp-001' } };
    let disk = { [Symbol.dispose]: () => {} };
    const onEvent = ({ type }: { type: string }) => {
      if (type === 'tool_finished' && !('left' in disk)) disk = Object.assign(smallDisk(0), { left: 0 });
    };
    const script = [{ calls: [fetch] }, { calls: [fetch] }, { text: 'done' }];
    const serverConfig = { mcpServers: { 'mcp-sharepoint': { url: shelf.url } } };
    try {
      const { result } = await tryGhost('openai', script, { serverConfig, gate, audit, onEvent });
      assert.deepEqual(
        result.toolChain.map(({ success, error }) => [success, error]),
        [
          [true, null],
          [false, 'Not allowed (audit_unavailable)'],
        ],
      );
      assert.match(result.executionMetadata.auditProblem ?? '', /no space left/);
    } finally {
      disk[Symbol.dispose]();
    }
  });
});
