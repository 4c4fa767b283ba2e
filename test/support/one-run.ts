/** What holds of every run of an agent framework that asks a model twice and calls one MCP tool in between. */
import assert from 'node:assert/strict';
import type { StoredSums } from './fresh-app.ts';
import type { CollectedSpan } from './otlp-collector.ts';
import { COST_USD, INPUT_TOKENS, OUTPUT_TOKENS } from './tool-provider.ts';

const MODEL_OPERATIONS = new Set(['chat', 'generate_content', 'text_completion']);

/** Whether a span is one request to a model, in any dialect. */
export function isModelCall({ attributes }: CollectedSpan): boolean {
  const aiSdk = String(attributes['ai.operationId'] ?? '');
  return MODEL_OPERATIONS.has(String(attributes['gen_ai.operation.name'])) || aiSdk.includes('.do');
}

const isToolCall = ({ attributes }: CollectedSpan): boolean =>
  attributes['gen_ai.operation.name'] === 'execute_tool';

/** The spans of the run: those of the trace with model calls. */
export function assertOneRun(
  spans: readonly CollectedSpan[],
  options: { readonly isLinked?: boolean } = {},
): CollectedSpan[] {
  const models = spans.filter(isModelCall);
  const traces = new Set(models.map(({ traceId }) => traceId));
  const shown = spans.map(({ name, kind, traceId }) => `${traceId.slice(0, 4)} ${kind} ${name}`).join('\n');
  assert.equal(models.length, 2, shown);
  assert.equal(traces.size, 1, shown);
  const run = spans.filter(({ traceId }) => traces.has(traceId));
  assert.equal(run.filter(({ parentSpanId }) => parentSpanId === '').length, 1, shown);
  const sum = (name: string) =>
    models.reduce((total, { attributes }) => total + Number(attributes[name] ?? Number.NaN), 0);
  assert.equal(sum('gen_ai.usage.input_tokens'), 2 * INPUT_TOKENS);
  assert.equal(sum('gen_ai.usage.output_tokens'), 2 * OUTPUT_TOKENS);
  assert.ok(sum('observatory.cost_usd') > 0, 'calls have a cost');
  const tools = run.filter(isToolCall);
  const [caller, server, ...more] = tools.sort((a) => (a.kind === 'SERVER' ? 1 : -1));
  assert.deepEqual(more, [], shown);
  assert.equal(caller?.attributes['gen_ai.tool.name'], 'echo');
  assert.equal(caller?.attributes['mcp.method.name'], 'tools/call');
  assert.equal(server?.kind, 'SERVER', shown);
  assert.equal(server?.parentSpanId, caller?.spanId, shown);
  if (options.isLinked !== false) {
    const chooser = models.find(({ spanId }) => spanId === caller?.links[0]?.spanId);
    assert.ok(
      chooser !== undefined || models.some(({ spanId }) => spanId === caller?.parentSpanId),
      'linked',
    );
  }
  return run;
}

/** Plain sums over the stored spans must be what this many calls of the model cost. */
export function assertSums(sums: StoredSums | undefined, calls: number, costUsd = COST_USD): void {
  // Where there is no PostgreSQL.
  if (sums === undefined) return;
  assert.equal(sums.promptTokens, calls * INPUT_TOKENS);
  assert.equal(sums.completionTokens, calls * OUTPUT_TOKENS);
  assert.ok(Math.abs(sums.costUsd - calls * costUsd) < 1e-9, `${sums.costUsd} for ${calls} calls`);
}

/** Sums as above, and that the stored calls of tools name who called whom. */
export function assertStored(sums: StoredSums | undefined, calls: number, ...callers: string[]): void {
  assertSums(sums, calls);
  if (sums !== undefined) assert.deepEqual(sums.callers, callers);
}

/** That the stored calls of the model have a span of ours each, in one trace below one root of ours. */
export function assertStoredRun(sums: StoredSums | undefined, calls: number): void {
  if (sums !== undefined) assert.deepEqual([sums.chats, sums.runs, sums.roots], [calls, 1, 1]);
}

/** Text of prompts, arguments and answers must not leave the process. */
export function assertNoContent(spans: readonly CollectedSpan[]): void {
  const text = JSON.stringify(spans);
  for (const said of ['Say hello', '"done"', '\\"text\\":\\"x\\"']) assert.ok(!text.includes(said), said);
}
