/** A run kept as a golden from the page, and its file as a download. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { context, propagation, trace } from '@opentelemetry/api';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { readGolden } from '../src/golden/index.ts';
import { migrate, PostgresSpanExporter, type Queryable } from '../src/postgres/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { startPage } from '../src/ui/index.ts';
import { noChromium, visit } from './support/chromium.ts';
import { exportSpans } from './support/export.ts';
import { scenarioServer, tryGhost } from './support/ghost.ts';
import { post } from './support/http-post.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { runOf } from './support/seeded-runs.ts';
import { tempDir } from './support/temp-dir.ts';
import { newPGlite } from './support/templates.ts';
import { waitUntil } from './support/wait-until.ts';

const PATIENCE_MS = 60_000;

describe('a golden from the page', () => {
  const folder = join(tempDir(), 'goldens');
  let db: Queryable & { close(): Promise<void> };
  let page: Awaited<ReturnType<typeof startPage>>;
  let run = '';
  let name = '';
  before(async () => {
    db = (await newPGlite()) as typeof db;
    await migrate(db);
    const exporter = new PostgresSpanExporter({ connection: db });
    const tracing = new NodeTracerProvider({
      spanProcessors: [
        new ObservatorySpanProcessor({ captureContent: true }),
        new SimpleSpanProcessor(exporter),
      ],
    });
    tracing.register();
    try {
      await trace.getTracer('test').startActiveSpan('request', async (span) => {
        run = span.spanContext().traceId;
        const calls = [{ name: 'scenario__add', arguments: { a: 20, b: 22 } }];
        await tryGhost('openai', [{ text: 'I add.', calls }, { text: '42.' }], {
          serverConfig: { mcpServers: { scenario: scenarioServer() } },
        });
        span.end();
      });
      await tracing.forceFlush();
      await exportSpans(
        exporter,
        runOf(
          99,
          1,
          Array.from({ length: 5_001 }, (_, i) => ({ name: `part ${i}`, at: i, ms: 1 })),
        ),
      );
    } finally {
      await tracing.shutdown();
      trace.disable();
      context.disable();
      propagation.disable();
    }
    name = `runs/trace_${run.slice(0, 16)}`;
    page = await startPage({ db, port: 0, token: PAGE_TOKEN, goldens: folder });
  });
  after(async () => {
    await page?.close();
    await db?.close();
  });
  const keep = (id: string) =>
    post(
      `${page.address}api/runs/${id}/golden`,
      { ...BEARER, 'content-type': 'application/json' },
      Buffer.from('{}'),
    );
  const download = (of: string, headers: Record<string, string> = {}) =>
    post(
      `${page.address}api/goldens/file?name=${encodeURIComponent(of)}`,
      { ...BEARER, ...headers },
      undefined,
      'GET',
    );

  test('a run is kept once, and its file is what the golden commands read', async () => {
    const kept = await keep(run);
    assert.equal(kept.status, 200, kept.body.toString());
    const file = join(folder, `${name}.json`);
    const { description, ...rest } = JSON.parse(kept.body.toString());
    assert.deepEqual(rest, { name, file, isNew: true });
    assert.match(description, /It lacks: /);
    const { status, headers, body } = await download(name);
    assert.equal(status, 200);
    assert.equal(headers['content-disposition'], `attachment; filename="${name.split('/')[1]}.json"`);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.deepEqual(body, readFileSync(file));
    const saved = join(tempDir(), 'saved.json');
    writeFileSync(saved, body);
    const golden = await readGolden(saved);
    assert.deepEqual(
      golden.mcp_cassette?.calls.map(({ tool }) => tool),
      ['add'],
    );
    assert.deepEqual(JSON.parse((await keep(run)).body.toString()), { name, file, isNew: false });
  });

  test('a golden of any name can be saved, under a name that no header breaks on', async () => {
    copyFileSync(join(folder, `${name}.json`), join(folder, 'päid "twice".json'));
    const { status, headers } = await download('päid "twice"');
    assert.equal(status, 200);
    assert.equal(headers['content-disposition'], 'attachment; filename="p_id__twice_.json"');
  });

  test('nobody else gets a file, and nothing that is no golden below the folder is one', async () => {
    const host = new URL(page.url).host;
    assert.equal((await download(name, { origin: 'http://evil.example' })).status, 403);
    assert.equal((await download(name, { 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await download(name, { host: 'evil.example' })).status, 421);
    assert.equal((await download(name, { host })).status, 200);
    writeFileSync(join(folder, '..', 'secret.json'), '{}');
    symlinkSync(join(folder, '..', 'secret.json'), join(folder, 'link.json'));
    mkdirSync(join(folder, 'd.json'));
    for (const wrong of [
      '../secret',
      'runs/../../secret',
      '/etc/passwd',
      'link',
      'none',
      '',
      'a\0b',
      'runs\\x',
    ]) {
      assert.equal((await download(wrong)).status, 404, wrong);
    }
    writeFileSync(join(folder, 'other.json'), '{"password": "hunter2"}');
    const other = await download('other');
    assert.equal(other.status, 409);
    assert.equal(other.body.toString().includes('hunter2'), false);
    assert.ok((await download('d')).status >= 400);
  });

  test('a run that is too large is refused with the command that keeps it', async () => {
    const answer = await keep((99).toString(16).padStart(32, '0'));
    assert.equal(answer.status, 409);
    assert.match(answer.body.toString(), /5001 spans .* 'golden from-trace' keeps any/);
  });

  test('the page offers the download where the golden was kept', { skip: noChromium() }, async () => {
    await visit(`${page.url}#/run/${run}`, async (view) => {
      const text = async () => String(await view.evaluate('document.body.innerText'));
      await waitUntil(async () => (await text()).includes('Keep as golden'), PATIENCE_MS);
      await view.evaluate(
        '[...document.querySelectorAll("button")].find((b) => b.innerText.includes("Keep as golden")).click()',
      );
      await waitUntil(async () => (await text()).includes('It was kept before as'), PATIENCE_MS);
      const got = await view.evaluate(`(async () => {
        const make = URL.createObjectURL;
        const saved = new Promise((resolve) => {
          URL.createObjectURL = (blob) => (resolve(blob), make.call(URL, blob));
        });
        [...document.querySelectorAll('button')].find((b) => b.innerText.includes('Download')).click();
        const blob = await saved;
        return [blob.type, JSON.parse(await blob.text()).test_name];
      })()`);
      assert.deepEqual(got, ['application/json; charset=utf-8', name.split('/')[1]]);
      assert.deepEqual(view.complaints, []);
    });
  });
});
