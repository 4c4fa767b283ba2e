/**
 * Times what somebody waits who types `npx mcp-observatory up`: until it is ready, and until the first span of a program
 * is on the screen of a browser that was open before.
 *
 *     node dist/bench/first-span.js [warm starts, default 3]
 *
 * The package is packed as it is built (`npm run prepack`), and typed in an empty folder with an empty home, npm cache and
 * cache of its own; what the program needs is installed beforehand, from the usual cache. The first start is cold: npm
 * fetches dependencies, and the embedded database is fetched.
 */
import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { noChromium } from '../test/support/chromium.ts';
import { Consumers } from '../test/support/consumer.ts';
import { FIRST_SPAN_PACKAGES, firstSpan } from '../test/support/first-span.ts';

const warm = Number(process.argv[2] ?? 3);
const reason = noChromium();
if (reason !== false) throw new Error(reason);

await using consumers = await Consumers.pack();
const program = await consumers.install('program', FIRST_SPAN_PACKAGES);
const folder = await consumers.empty('typed-in');
const home = join(dirname(folder), 'home');
mkdirSync(home);
const env = {
  PATH: process.env.PATH,
  HOME: home,
  XDG_CACHE_HOME: join(home, 'cache'),
  npm_config_cache: join(home, 'npm'),
};
say(
  `${''.padEnd(8)}${['ready', 'on screen', 'CPU', 'memory', 'at most', 'load'].map((text) => text.padStart(12)).join('')}`,
);
for (let i = 0; i <= warm; i += 1) {
  const { readyMs, shownMs, cpuMs, residentMb, peakMb } = await firstSpan(
    consumers.tarball,
    folder,
    program,
    env,
  );
  const seconds = [readyMs, shownMs, cpuMs].map((ms) => `${(ms / 1000).toFixed(1)} s`);
  const memory = [residentMb, peakMb].map((mb) => `${mb.toFixed(0)} MB`);
  const figures = [...seconds, ...memory, (loadavg()[0] as number).toFixed(1)];
  say(`${(i === 0 ? 'cold' : 'warm').padEnd(8)}${figures.map((text) => text.padStart(12)).join('')}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
