/** What a user sees of an error that nobody catches: one screen of readable code, and the message. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundle } from './support/bundle.ts';
import { sized } from './support/size.ts';

const PROGRAMS: Readonly<Record<string, readonly [entry: string, code: string]>> = {
  "'pins' of PolicyGate": ['policy', "new m.PolicyGate({ policy: {}, pins: 'pins.json' })"],
  'startObservatory() has no option': ['index', "await m.startObservatory({ servicename: 'x' })"],
  'mcpGhost() has no option': [
    'orchestrator',
    "await m.mcpGhost({ userPromt: 'x', systemPrompt: '', userPrompt: '' })",
  ],
  'make the directory': ['policy', "new m.AuditLog({ dir: '/proc/none/such' })"],
  'cannot be read (ENOENT)': ['policy', "new m.PolicyGate({ policy: '/none.json' }).assertReady()"],
  'The pin file': ['policy', "m.PinStore.fromFile('/none.json')"],
  'Expected one of': ['collector', 'await m.startCollector({})'],
  'a golden, as': ['golden', "await m.playGolden('file.json')"],
  'none.json': ['golden', "await m.readGolden('/none.json')"],
  'Unknown provider': ['orchestrator', "await m.createProvider('none')"],
  'neither stored nor on disk': [
    'index',
    `const p = new m.DurableSpanProcessor({ exporter: { export: (s, done) => done({ code: 1 }), shutdown: async () => {} } });
     const { trace } = await import('@opentelemetry/api');
     p.onEnd({ spanContext: () => ({ traceId: '1', spanId: '2', traceFlags: 1 }), name: 'x', attributes: {}, events: [], links: [], resource: { attributes: {} }, instrumentationScope: { name: 'x' }, status: { code: 0 }, startTime: [0, 0], endTime: [0, 0], duration: [0, 0], kind: 0 });
     await p.shutdown();`,
  ],
};

for (const [message, [entry, code]] of Object.entries(PROGRAMS).filter((_, i) => i % sized(4, 1) === 0)) {
  test(`an uncaught error fits one screen: ${message}`, () => {
    const module = JSON.stringify(join(bundle(), `${entry}.js`));
    const program = `const m = await import(${module});\n${code}`;
    const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      cwd: join(import.meta.dirname, '../..'),
    });
    assert.equal(status, 1, stderr);
    const lines = stderr.trimEnd().split('\n');
    assert.ok(stderr.includes(message), stderr);
    assert.ok(lines.length <= 30, `${lines.length} lines: ${stderr}`);
    for (const line of lines) assert.ok(line.length <= 700, `${line.length} characters: ${line}`);
    assert.ok(stderr.length < 4_000, `${stderr.length} characters`);
  });
}
