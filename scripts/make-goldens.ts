/**
 * Generates the golden library: records each run of `golden-library.ts` and each step of `golden-policy-library.ts`
 * through the official SDKs from a scripted provider, with real MCP servers. The goldens have the source `scripted`.
 *
 *   node dist/scripts/make-goldens.js [--check] [--only TEXT]
 *
 * `--check` writes nothing and exits with 1 if a golden would change; versions of this package and of SDKs are ignored.
 * Times are written as 0, so that the same code generates the same files.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  formatGolden,
  type Golden,
  mcpGhost,
  parseGolden,
  readGolden,
  recordPolicyStep,
  sealGolden,
} from '../src/golden/index.ts';
import { canonicalHash } from '../src/json/index.ts';
import { ScriptedProvider } from '../test/support/scripted-provider.ts';
import { LIBRARY, SERVERS } from './golden-library.ts';
import { POLICY_LIBRARY } from './golden-policy-library.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MODELS: Readonly<Record<string, string>> = {
  openai: 'gpt-5.4-mini',
  anthropic: 'claude-sonnet-5-5',
  gemini: 'gemini-3-flash-preview',
};
const SYSTEM_PROMPT = 'You work for the customer desk. Use the tools; answer from what they return.';

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
});
// Servers are given as commands relative to the repository.
process.chdir(ROOT);
const folder = mkdtempSync(join(tmpdir(), 'goldens-'));
let stale = 0;
try {
  await Promise.all([...Object.keys(MODELS).map(recordRuns), recordSteps()]);
  keepToolDefinitions();
} finally {
  rmSync(folder, { recursive: true });
}
if (values.check && stale > 0) {
  process.stdout.write('Not up to date. Run: node dist/scripts/make-goldens.js\n');
  process.exitCode = 1;
}

async function recordRuns(provider: string): Promise<void> {
  const model = MODELS[provider] ?? '';
  for (const run of LIBRARY) {
    if (run.providers !== undefined && !run.providers.includes(provider)) continue;
    const { name, description, category, task, script, options, comparison } = run;
    const file = `goldens/${provider}/${name}.json`;
    if (!file.includes(values.only)) continue;
    const turns = 'by' in script ? script.by(provider) : script;
    await using scripted = await ScriptedProvider.start(turns);
    const path = join(folder, `${provider}.json`);
    await mcpGhost({
      serverConfig: SERVERS,
      systemPrompt: SYSTEM_PROMPT,
      userPrompt: task,
      provider,
      model,
      apiKey: 'no-key-is-needed',
      baseUrl: scripted.baseUrl(provider),
      ...options,
      golden: { mode: 'record', path, testName: name, description, category, comparison, recordedAt: null },
    });
    if (scripted.refused.length > 0) throw new Error(`${file}: ${scripted.refused.join('; ')}`);
    await keep(file, path);
  }
}

async function recordSteps(): Promise<void> {
  for (const { name, description, category, step, script } of POLICY_LIBRARY) {
    const file = `goldens/shared/${name}.json`;
    if (!file.includes(values.only)) continue;
    await using scripted = await ScriptedProvider.start(script);
    const path = join(folder, 'step.json');
    await recordPolicyStep(
      { ...step, provider: 'openai', model: MODELS.openai ?? '' },
      {
        path,
        testName: name,
        description,
        category,
        recordedAt: null,
        apiKey: 'no-key-is-needed',
        baseUrl: scripted.baseUrl('openai'),
      },
    );
    await keep(file, path);
  }
}

/** Writes a golden; with `--check`, reports that it would change. */
async function keep(file: string, recorded: string): Promise<void> {
  const fresh = withoutPlace(withoutTimes(await readGolden(recorded)));
  const before = readOld(file);
  if (before !== undefined && comparable(before) === comparable(fresh)) return;
  stale += 1;
  process.stdout.write(`${file}: ${values.check ? 'would change' : 'written'}\n`);
  if (!values.check) writeFileSync(file, formatGolden(fresh));
}

/** The tools of the library's servers in the format of `gate plan --tools`, from the first golden of each server. */
function keepToolDefinitions(): void {
  const file = 'goldens/shared/tool_schema_definitions.json';
  const sources = {
    scenario: 'goldens/openai/happy_path_customer_lookup.json',
    database: 'goldens/openai/happy_path_database_query.json',
    files: 'goldens/openai/happy_path_database_query.json',
    'mcp-sharepoint': 'goldens/shared/policy_allowed_call.json',
  };
  const tools = Object.entries(sources).map(([server, golden]) => {
    const first = readOld(golden)?.mcp_cassette?.servers[server]?.connections[0];
    return [server, { tools: first?.outcome === 'ready' ? first.tool_lists[0] : [] }] as const;
  });
  const text = `${JSON.stringify(Object.fromEntries(tools), null, 2)}\n`;
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  stale += 1;
  process.stdout.write(`${file}: ${values.check ? 'would change' : 'written'}\n`);
  if (!values.check) writeFileSync(file, text);
}

function readOld(file: string): Golden | undefined {
  try {
    return parseGolden(readFileSync(file, 'utf8'), file);
  } catch {
    return undefined;
  }
}

function comparable(golden: Golden): string {
  const { checksum: _, versions: __, ...content } = golden;
  return canonicalHash(content);
}

/** Errors of the file server name files with their whole path, which is another one in every checkout. */
function withoutPlace(golden: Golden): Golden {
  const { checksum: _, ...content } = golden;
  return sealGolden(JSON.parse(JSON.stringify(content).replaceAll(ROOT, '/repository/')) as Golden);
}

function withoutTimes(golden: Golden): Golden {
  const cassette = golden.mcp_cassette;
  return sealGolden({
    ...golden,
    golden_output: outputWithoutTimes(golden.golden_output),
    provider_responses: golden.provider_responses.map((exchange) => ({ ...exchange, duration_ms: 0 })),
    mcp_cassette:
      cassette === null
        ? null
        : { ...cassette, calls: cassette.calls.map((call) => ({ ...call, duration_ms: 0 })) },
  });
}

type Json = Record<string, unknown>;

function outputWithoutTimes(output: Golden['golden_output']): Golden['golden_output'] {
  const metadata = output.execution_metadata as Json | undefined;
  if (metadata === undefined) {
    const decision = output.decision as Json | undefined;
    return decision === undefined ? output : { ...output, decision: { ...decision, latency_us: 0 } };
  }
  const performance = (metadata.tool_performance as Json[])
    .map((figures) => ({ ...figures, total_time: 0, mean_time: 0, max_time: 0 }) as Json)
    .sort((left, right) => (String(left.tool_name) < String(right.tool_name) ? -1 : 1));
  return {
    ...output,
    tool_chain: (output.tool_chain as Json[]).map((entry) => ({ ...entry, execution_time: 0 })),
    execution_metadata: { ...metadata, total_execution_time: 0, tool_performance: performance },
  };
}
