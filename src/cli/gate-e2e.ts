/** `mcp-observatory gate e2e`: SAFE against the naive baseline, over real servers. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../base/index.ts';
import { FILE_LIMITS, parseStrictJson } from '../json/index.ts';
import { modelPlanner } from '../orchestrator/index.ts';
import { connectPolicyServers, PolicyGate, policyPath } from '../policy/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK } from './command-line/index.ts';
import { type EndToEndCase, runEndToEnd } from './eval/index.ts';

/** Runs the comparison; exit code 1 when a call in SAFE mode violated the policy. */
export async function runGateE2e(args: readonly string[], io: CommandIo): Promise<number> {
  const options = readOptions(args);
  const cases = readCases(options.cases);
  using gate = new PolicyGate({ policy: policyPath(options.allowlist, io.env) });
  gate.assertReady();
  const planner =
    options.model === undefined && options.provider === undefined
      ? undefined
      : await modelPlanner({ provider: options.provider, model: options.model, baseUrl: options.baseUrl });
  const servers = new Map(Object.entries(await connectPolicyServers(options.servers, { env: io.env })));
  try {
    const report = await runEndToEnd({ cases, gate, servers, planner });
    const stem = join(options.out, new Date().toISOString().replace(/[:.]/g, '-'));
    mkdirSync(options.out, { recursive: true });
    writeFileSync(`${stem}_metrics.json`, `${JSON.stringify(report.metrics, null, 2)}\n`);
    writeFileSync(`${stem}_runs.jsonl`, report.runs.map((run) => `${JSON.stringify(run)}\n`).join(''));
    writeFileSync(`${stem}_table.md`, `${report.table}\n`);
    io.stdout.write(
      options.json ? `${JSON.stringify(report.metrics)}\n` : `${report.table}\n\nWritten to ${stem}_*\n`,
    );
    return report.metrics.safe.violations === 0 ? EXIT_OK : EXIT_FAILED;
  } finally {
    await Promise.allSettled([...servers.values()].map((server) => server.close()));
  }
}

function readOptions(args: readonly string[]) {
  const options = {
    cases: { type: 'string' },
    servers: { type: 'string' },
    allowlist: { type: 'string' },
    provider: { type: 'string' },
    model: { type: 'string' },
    'base-url': { type: 'string' },
    out: { type: 'string', default: 'eval/results' },
    json: { type: 'boolean', default: false },
  } as const;
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];
  try {
    ({ values } = parseArgs({ args: [...args], options, strict: true }));
  } catch (cause) {
    throw invalid(`${(cause as Error).message}; see 'mcp-observatory gate --help'`, cause);
  }
  const { cases, servers, allowlist, provider, model, out, json } = values;
  if (cases === undefined || servers === undefined)
    throw invalid("'gate e2e' needs --cases FILE and --servers FILE");
  return { cases, servers, allowlist, provider, model, baseUrl: values['base-url'], out, json };
}

function readCases(path: string): readonly EndToEndCase[] {
  return readText(path)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      const item = parse(path, line) as Partial<EndToEndCase> | null;
      if (typeof item?.id !== 'string' || typeof item.query !== 'string') {
        throw invalid(`'${path}' line ${index + 1}: a case is {"id": "...", "query": "..."}`);
      }
      return item as EndToEndCase;
    });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw invalid(`'${path}' cannot be read`, cause);
  }
}

function parse(path: string, text: string): unknown {
  try {
    return parseStrictJson(text, FILE_LIMITS);
  } catch (cause) {
    throw invalid(`'${path}': ${(cause as Error).message}`, cause);
  }
}

function invalid(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', message, { cause });
}
