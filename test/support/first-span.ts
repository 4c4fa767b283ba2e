/** The first minute of somebody who types `npx mcp-observatory up`: the time until a span of a program is on screen. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { visit } from './chromium.ts';
import { cpuOfEndedMs, processesOf } from './processes.ts';
import { waitUntil } from './wait-until.ts';

const PATIENCE_MS = 120_000;

/** What a program of the user sends spans with; installed beforehand. */
export const FIRST_SPAN_PACKAGES = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/sdk-trace-node@2.12.0',
  '@opentelemetry/exporter-trace-otlp-http@0.223.0',
  'openai@6.49',
] as const;

/** A program that lives on, as a server does: its spans leave when the exporter sends them. */
const PROGRAM = `import OpenAI from 'openai';
const body = { id: 'a', object: 'chat.completion', model: 'gpt-4o', choices: [{ index: 0, finish_reason: 'stop',
  message: { role: 'assistant', content: 'Hi' } }], usage: { prompt_tokens: 1, completion_tokens: 1 } };
const headers = { 'content-type': 'application/json' };
const client = new OpenAI({ apiKey: 'x', fetch: async () => new Response(JSON.stringify(body), { headers }) });
await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] });
process.stdin.resume().once('end', () => process.exit());`;

/** Times are milliseconds from the start of the command. */
export interface FirstSpan {
  /** It says that it is ready, and the program is started. */
  readonly readyMs: number;
  /** The browser shows the program's call. */
  readonly shownMs: number;
  /** CPU time of the command and all it started, until it was ended right after. */
  readonly cpuMs: number;
  /** Resident memory of the process with the store, now and at most. */
  readonly residentMb: number;
  readonly peakMb: number;
}

/**
 * Types the command in a folder, runs a program against it, and watches a browser that is open before.
 *
 * @param folder where the command is typed.
 * @param program a folder with the package and {@link FIRST_SPAN_PACKAGES}.
 */
export async function firstSpan(
  tarball: string,
  folder: string,
  program: string,
  env: NodeJS.ProcessEnv,
): Promise<FirstSpan> {
  await writeFile(join(program, 'first-span.mjs'), PROGRAM);
  let result: FirstSpan | undefined;
  await visit('about:blank', async (view) => {
    const cpuBefore = cpuOfEndedMs();
    const began = performance.now();
    const ports = ['--port', '0', '--http-port', '0', '--grpc-port', '0'];
    const up = spawn('npx', ['--yes', `--package=${tarball}`, 'mcp-observatory', 'up', '--json', ...ports], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      // npx does not pass signals on to what it runs in every version: the group is ended.
      detached: true,
    });
    let app: ChildProcess | undefined;
    try {
      const lines = createInterface({ input: up.stdout });
      const [line] = (await Promise.race([
        once(lines, 'line'),
        once(up, 'exit').then(() => {
          throw new Error('up has ended');
        }),
      ])) as [string];
      const readyMs = performance.now() - began;
      const { page, http } = JSON.parse(line) as { page: string; http: string };
      app = spawn(process.execPath, ['--import', 'mcp-observatory/register', 'first-span.mjs'], {
        cwd: program,
        env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: http },
        stdio: ['pipe', 'inherit', 'inherit'],
      });
      await view.open(page);
      await waitUntil(
        async () => String(await view.evaluate('document.body?.innerText')).includes('chat gpt-4o'),
        PATIENCE_MS,
      );
      const shownMs = performance.now() - began;
      const { residentMb, peakMb } = memoryOf(up.pid as number);
      await ended(up);
      result = { readyMs, shownMs, cpuMs: cpuOfEndedMs() - cpuBefore, residentMb, peakMb };
    } finally {
      await ended(up);
      app?.stdin?.end();
      if (app?.exitCode === null) await once(app, 'exit');
    }
  });
  return result as FirstSpan;
}

async function ended(group: ChildProcess): Promise<void> {
  if (group.exitCode !== null || group.signalCode !== null) return;
  const exited = once(group, 'exit');
  process.kill(-(group.pid as number), 'SIGINT');
  await exited;
}

/** Memory of the largest process of a group. */
function memoryOf(group: number): { residentMb: number; peakMb: number } {
  return processesOf(group)
    .map((pid) => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const mb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
      return { residentMb: mb('VmRSS'), peakMb: mb('VmHWM') };
    })
    .reduce((a, b) => (b.peakMb > a.peakMb ? b : a));
}
