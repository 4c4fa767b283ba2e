import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { storyPage, tellStory } from '../src/cli/golden/inspect/index.ts';
import { noChromium, visit } from './support/chromium.ts';
import { longTest } from './support/size.ts';
import { storyGolden } from './support/story-golden.ts';
import { waitUntil } from './support/wait-until.ts';

const skip = noChromium();
const TIMEOUT = { skip, timeout: 120_000 };

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'golden-page-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function pageFile(name: string, page: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, page);
  return pathToFileURL(file).href;
}

longTest(
  'a real browser opens the page without a request, and what tools said stays text',
  TIMEOUT,
  async () => {
    const story = tellStory(storyGolden({ turns: 4, resultChars: 30_000 }));
    const url = await pageFile('story.html', storyPage(story));
    await visit(url, async ({ requests, complaints, evaluate }) => {
      assert.deepEqual(
        requests.filter((one) => !one.startsWith('data:')),
        [url],
      );
      assert.deepEqual(complaints, [], 'the policy refuses nothing the page itself has');
      assert.equal(await evaluate('document.title'), `${story.title} · golden`);
      assert.equal(await evaluate('document.querySelectorAll("li.step").length'), story.steps.length);
      assert.equal(
        await evaluate('document.querySelectorAll("script,img,iframe,a[href^=javascript]").length'),
        0,
      );
      assert.ok(
        await evaluate(`document.body.innerText.includes('<script>document.title="owned"</script>')`),
      );
      // The style is applied, so its hash is right; and the reader's choice of colors works without a script.
      const paper = 'getComputedStyle(document.body).backgroundColor';
      await evaluate('document.getElementById("light").checked = true');
      const light = await evaluate(paper);
      await evaluate('document.getElementById("dark").checked = true');
      assert.notEqual(await evaluate(paper), light);
      assert.equal(
        await evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth'),
        false,
      );
    });
  },
);

test('were markup to get through, the policy would let nothing run or load', TIMEOUT, async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const breach = `<img src="${host}/image"><script>document.title="owned"</script><script src="${host}/script"></script><link rel="stylesheet" href="${host}/style"><style>body{display:none}</style>`;
    const page = storyPage(tellStory(storyGolden())).replace('<main>', `<main>${breach}`);
    await visit(await pageFile('breach.html', page), async ({ complaints, evaluate }) => {
      assert.notEqual(await evaluate('document.title'), 'owned');
      assert.notEqual(await evaluate('getComputedStyle(document.body).display'), 'none');
      await waitUntil(() => complaints.some((one) => one.includes('Content Security Policy')));
    });
    assert.deepEqual(asked, []);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
