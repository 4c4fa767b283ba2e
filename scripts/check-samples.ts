/** Compiles the TypeScript samples of the README and the docs against the declarations that the package ships. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Stand-ins for what a sample leaves to the reader's program, by the names the samples use. */
const READERS_PROGRAM = `
import type { Interceptor } from 'mcp-observatory';
import type { PostgresReviewQueue, TieredExecutionConfig } from 'mcp-observatory/execution';
import type { GhostOptions } from 'mcp-observatory/orchestrator';
import type { GateableClient } from 'mcp-observatory/policy';

declare global {
  const client: GateableClient;
  const config: TieredExecutionConfig;
  const interceptor: Interceptor;
  const options: GhostOptions;
  const outputMessages: unknown;
  const prompt: string;
  const queue: PostgresReviewQueue;
  const request: unknown;
  const reviewId: string;
  const sessionId: string;
  const signal: AbortSignal;
  function askModel(model: string, prompt: string, signal?: AbortSignal): Promise<string>;
  function call(): Promise<unknown>;
  function use(response: unknown): void;
}
`;

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable'],
    types: ['node'],
  },
};

/**
 * Checks the samples of the repository at `root`, whose package has been built with its declarations.
 * @throws when a sample does not compile; the compiler's messages are on stdout and name the file and the sample.
 */
export function checkSamples(root: string): number {
  // Inside the repository, so that the package is found by its own name.
  const folder = join(root, 'dist/samples');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const samples = documents(root).flatMap((path) => samplesOf(path));
  if (samples.length === 0) throw new Error('The docs have no samples');
  for (const { name, code } of samples) writeFileSync(join(folder, name), `${code}\nexport {};\n`);
  writeFileSync(join(folder, 'readers-program.d.ts'), READERS_PROGRAM);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder], {
    cwd: root,
    stdio: 'inherit',
  });
  return samples.length;
}

function documents(root: string): string[] {
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  return [join(root, 'README.md'), ...docs.map((name) => join(root, 'docs', name))];
}

function samplesOf(path: string): { name: string; code: string }[] {
  const fences = readFileSync(path, 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm);
  return [...fences].map(([, code = ''], index) => ({ name: `${basename(path)}-${index + 1}.ts`, code }));
}
