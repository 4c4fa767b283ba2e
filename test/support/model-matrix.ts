/** Each model SDK, as ES module and CommonJS, plain and streamed, in programs of their own: one span each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OtlpCollector } from './otlp-collector.ts';
import type { ProgramOutcome } from './programs.ts';
import type { ProviderServer } from './provider-server.ts';

export const MODEL_SDKS = ['openai', '@anthropic-ai/sdk', '@google/genai'] as const;

export interface ModelMatrixHost {
  /** Runs `app.mjs` or `app.cjs` of the fixtures with these arguments, its telemetry going to the collector. */
  readonly run: (
    app: string,
    args: readonly string[],
  ) => Promise<Pick<ProgramOutcome, 'code' | 'stdout' | 'stderr'>>;
  readonly collector: OtlpCollector;
  readonly provider: ProviderServer;
}

/** Declares the matrix as tests; `host` is asked when they run. The collector must be empty before each. */
export function describeModelMatrix(host: () => ModelMatrixHost): void {
  for (const sdk of MODEL_SDKS) {
    for (const [kind, app] of [
      ['ES module', 'app.mjs'],
      ['CommonJS', 'app.cjs'],
    ] as const) {
      for (const mode of ['plain', 'stream'] as const) {
        test(`${sdk}, ${kind}, ${mode}: one span, nothing on stdout`, () => oneCall(host(), sdk, app, mode));
      }
    }
  }
}

async function oneCall(
  { run, collector, provider }: ModelMatrixHost,
  sdk: string,
  app: string,
  mode: 'plain' | 'stream',
): Promise<void> {
  const { stdout, stderr, code } = await run(app, [sdk, mode]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, '');
  await collector.until((spans) => spans.length > 0);
  assert.equal(collector.spans.length, 1);
  const [span] = collector.spans;
  assert.equal(span?.kind, 'CLIENT');
  assert.equal(span?.service, 'fixture');
  assert.equal(span?.parentSpanId, '');
  assert.equal(span?.attributes['gen_ai.usage.input_tokens'], 10);
  assert.equal(span?.attributes['gen_ai.usage.output_tokens'], 5);
  assert.equal(span?.attributes['gen_ai.request.stream'], mode === 'stream' ? true : undefined);
  assert.equal(span?.attributes['server.port'], provider.port);
}
