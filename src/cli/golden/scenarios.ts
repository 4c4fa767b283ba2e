import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ObservatoryError, packageFile } from '../../base/index.ts';
import { type GoldenCategory, mcpGhost } from '../../golden/index.ts';
import { connectServers } from '../../mcp-client/index.ts';
import {
  type Command,
  EXIT_FAILED,
  EXIT_OK,
  findKey,
  print,
  readFlags,
  usageError,
} from '../command-line/index.ts';

const PROVIDERS = ['openai', 'anthropic', 'gemini'] as const;

const HELP = `Usage: mcp-observatory golden scenarios --out DIR [options]

Records four runs with each provider that has a key, over a small database and a folder of files: a happy path, a
recovery from an error, the same task for all providers, and an edge case. The files are DIR/PROVIDER/NAME.json.

  --out DIR         folder to write to
  --provider NAME   only this provider (may be given several times)
  --model NAME      its model; needs --provider
  --base-url URL    its API; needs --provider
  --as-recorded     the base URL is a gateway to the provider's real API
  --json            one JSON object per run {path, provider, success} or {provider, skipped}

The servers are examples of this package and @modelcontextprotocol/server-filesystem (by npx); the database needs
@electric-sql/pglite and @modelcontextprotocol/sdk. Each run is paid for by your key.
Exit codes: 0 all recorded with an answer, 1 a run had none, 2 bad usage or no key at all.`;

interface Scenario {
  readonly name: string;
  readonly category: GoldenCategory;
  readonly prompt: string;
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'happy_path_database_query',
    category: 'happy_path',
    prompt: 'Which customers have unpaid invoices, and how much do they owe together?',
  },
  {
    name: 'error_recovery_file_not_found',
    category: 'error_recovery',
    prompt:
      'Read the file policy.md and say what it says about large payments. If it is not there, look for the right one.',
  },
  {
    name: 'provider_comparison_overdue',
    category: 'provider_comparison',
    prompt: 'Which unpaid invoice is the largest, and whose is it? Answer with the id and the name.',
  },
  {
    name: 'complex_tool_orchestration',
    category: 'edge_case',
    prompt: 'Check all unpaid invoices against our payment policy, and say for each which rule applies.',
  },
];

/** `mcp-observatory golden scenarios`: records the scenarios with real providers. */
export const goldenScenariosCommand: Command = {
  help: HELP,
  async run(args, io) {
    const { values } = readFlags(args, FLAGS);
    const { out, model, provider: named = [], 'base-url': baseUrl } = values;
    if (out === undefined) throw usageError('Expected --out DIR');
    const unknown = named.find((name) => !PROVIDERS.some((known) => known === name));
    if (unknown !== undefined)
      throw usageError(`Expected --provider ${PROVIDERS.join(', ')}, got '${unknown}'`);
    if ((model ?? baseUrl) !== undefined && named.length !== 1) {
      throw usageError('--model and --base-url need one --provider');
    }
    const tell = (facts: object, line: string): void => {
      if (values.json === true) print(io, facts);
      else io.stdout.writeLine(line);
    };
    let isWhole = true;
    let recorded = 0;
    // Before a run is paid for.
    if (PROVIDERS.some((provider) => findKey(provider, io) !== undefined)) await assertServersStart();
    for (const provider of PROVIDERS.filter((one) => named.length === 0 || named.includes(one))) {
      for (const { name, category, prompt } of SCENARIOS) {
        const path = join(out, provider, `${name}.json`);
        try {
          const { success } = await mcpGhost({
            serverConfig: await servers(),
            systemPrompt: 'You keep the books of a small shop. Answer from what the tools return.',
            userPrompt: prompt,
            provider,
            model,
            baseUrl,
            apiKey: findKey(provider, io),
            golden: {
              mode: 'record',
              path,
              testName: name,
              category,
              source: values['as-recorded'] === true ? 'recorded' : undefined,
            },
          });
          recorded += 1;
          isWhole &&= success;
          tell({ path, provider, success }, `${path}${success ? '' : ': no answer'}`);
        } catch (error) {
          if (!isMissingKey(error)) throw error;
          tell({ provider, skipped: error.message }, `${provider}: skipped, ${error.message}`);
          break;
        }
      }
    }
    if (recorded === 0)
      throw new ObservatoryError('API_KEY_MISSING', 'No provider has a key, so nothing was recorded');
    return isWhole ? EXIT_OK : EXIT_FAILED;
  },
};

function isMissingKey(error: unknown): error is ObservatoryError {
  return ObservatoryError.isInstance(error) && error.code === 'API_KEY_MISSING';
}

/** @throws the error of a server that cannot be used: of the database without its packages, for instance. */
async function assertServersStart(): Promise<void> {
  await using pool = await connectServers(await servers());
  const failed = pool.servers.find(({ error }) => error !== undefined);
  if (failed?.error !== undefined) throw failed.error;
}

async function servers(): Promise<object> {
  const database = fileURLToPath(packageFile('dist/examples/servers/database.js'));
  await access(database).catch((cause: Error) => {
    throw new ObservatoryError(
      'INVALID_INPUT',
      `The example server ${database} is not there: ${cause.message}`,
      { cause },
    );
  });
  const documents = fileURLToPath(packageFile('examples/documents/'));
  return {
    mcpServers: {
      database: { command: process.execPath, args: [database] },
      files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', documents] },
    },
  };
}

const FLAGS = {
  out: { type: 'string' },
  provider: { type: 'string', multiple: true },
  model: { type: 'string' },
  'base-url': { type: 'string' },
  'as-recorded': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;
