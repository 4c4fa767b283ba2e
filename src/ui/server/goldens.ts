import { type Golden, inspectGolden } from '../../golden/index.ts';
import { type RunSpan, withNulls } from '../../runs/index.ts';
import { findGoldenFile } from './golden-file.ts';

/** A golden as a run to compare with: its tool calls as spans. */
export interface GoldenRun {
  readonly name: string;
  readonly recordedMs: number | null;
  readonly answer: string | null;
  readonly spans: readonly RunSpan[];
}

/**
 * Reads a golden by one of its names; undefined when no golden has the name.
 * @throws ObservatoryError as {@link findGoldenFile}.
 */
export async function readGoldenRun(folder: string, name: string): Promise<GoldenRun | undefined> {
  const file = await findGoldenFile(folder, name);
  if (file === undefined) return undefined;
  const { golden } = await inspectGolden(file.path);
  const { recorded_at: at, golden_output: output } = golden;
  return {
    name: golden.test_name,
    recordedMs: at === null ? null : Date.parse(at),
    answer: findText(output),
    spans: listSpans(golden),
  };
}

function findText(output: Golden['golden_output']): string | null {
  const { final_result: answer } = output as { readonly final_result?: unknown };
  return typeof answer === 'string' ? answer : null;
}

function listSpans({ mcp_cassette: cassette }: Golden): readonly RunSpan[] {
  let at = 0;
  return (cassette?.calls ?? []).map((call, i) => {
    const startMs = at;
    at += call.duration_ms;
    const isFailed = call.outcome !== 'result' || call.result?.isError === true;
    return withNulls({
      kind: 'client',
      isBlocked: false,
      isModelCall: false,
      claimMismatch: false,
      id: String(i),
      name: `tools/call ${call.tool}`,
      method: 'tools/call',
      tool: call.tool,
      server: call.server,
      startMs,
      endMs: at,
      status: isFailed ? 'failed' : 'ok',
      statusCode: isFailed ? 'error' : 'unset',
    });
  });
}
