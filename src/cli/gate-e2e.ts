/** `mcp-observatory gate e2e`: SAFE against the naive baseline, over real servers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFileSync } from '../base/index.ts';
import { FILE_LIMITS, parseStrictJson } from '../json/index.ts';
import { modelPlanner } from '../orchestrator/index.ts';
import { connectPolicyServers } from '../policy/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from './command-line/index.ts';
import { type EndToEndCase, runEndToEnd } from './eval/index.ts';
import { openAuditLog, openGate, POLICY_FLAGS } from './policy-options/index.ts';
import { printableLine } from './terminal/index.ts';

/** Runs the comparison; exit code 1 when a call in SAFE mode violated the policy. */
export async function runGateE2e(args: readonly string[], io: CommandIo): Promise<number> {
  const options = readOptions(args);
  const cases = readCases(options.cases);
  using gate = openGate(options.policy, io.env);
  gate.assertReady();
  const planner =
    options.model === undefined && options.provider === undefined
      ? undefined
      : await modelPlanner({ provider: options.provider, model: options.model, baseUrl: options.baseUrl });
  const servers = new Map(Object.entries(await connectPolicyServers(options.servers, { env: io.env })));
  try {
    using audit = io.env.SAFE_TRACE_DIR ? openAuditLog(io.env) : undefined;
    const report = await runEndToEnd({ cases, gate, servers, planner, audit });
    const stem = join(options.out, new Date().toISOString().replace(/[:.]/g, '-'));
    writePrivateFileSync(`${stem}_metrics.json`, `${JSON.stringify(report.metrics, null, 2)}\n`);
    writePrivateFileSync(`${stem}_runs.jsonl`, report.runs.map((run) => `${JSON.stringify(run)}\n`).join(''));
    writePrivateFileSync(`${stem}_table.md`, `${report.table}\n`);
    print(io, options.json ? report.metrics : `${report.table}\n\nWritten to ${printableLine(stem)}_*`);
    return report.metrics.safe.violations === 0 ? EXIT_OK : EXIT_FAILED;
  } finally {
    await Promise.allSettled([...servers.values()].map((server) => server.close()));
  }
}

function readOptions(args: readonly string[]) {
  const { values } = readFlags(args, {
    cases: { type: 'string' },
    servers: { type: 'string' },
    ...POLICY_FLAGS,
    provider: { type: 'string' },
    model: { type: 'string' },
    'base-url': { type: 'string' },
    out: { type: 'string', default: 'eval/results' },
    json: { type: 'boolean', default: false },
  });
  const { cases, servers, provider, model, out, json } = values;
  if (cases === undefined || servers === undefined)
    throw usageError("'gate e2e' needs --cases FILE and --servers FILE");
  return { cases, servers, policy: values, provider, model, baseUrl: values['base-url'], out, json };
}

function readCases(path: string): readonly EndToEndCase[] {
  let lines: string[];
  try {
    lines = readFileSync(path, 'utf8').split('\n');
  } catch (cause) {
    throw usageError(`'${path}' cannot be read`, cause);
  }
  return lines
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      try {
        const item = parseStrictJson(line, FILE_LIMITS) as Partial<EndToEndCase> | null;
        if (typeof item?.id === 'string' && typeof item.query === 'string') return item as EndToEndCase;
      } catch (cause) {
        throw usageError(`'${path}': ${(cause as Error).message}`, cause);
      }
      throw usageError(`'${path}' line ${index + 1}: a case is {"id": "...", "query": "..."}`);
    });
}
