import { parseArgs } from 'node:util';
import { type GoldenCategory, mcpGhost, readGolden } from '../../golden/index.ts';
import {
  type Command,
  type CommandIo,
  EXIT_FAILED,
  EXIT_OK,
  numberFlag,
  RUN_FLAGS,
  RUN_FLAGS_HELP,
  readRunRequest,
  usageError,
} from '../command-line/index.ts';

const NAME = 'golden record';
const CATEGORIES: readonly GoldenCategory[] = [
  'happy_path',
  'error_recovery',
  'provider_comparison',
  'edge_case',
];

const HELP = `Usage: mcp-observatory golden record --provider NAME --out FILE [options] "prompt"

Runs a task like 'mcp-observatory run', and writes its golden.

  --out FILE             file to write, for instance goldens/openai/refund.json
  --name TEXT            name of the golden (default: that of the file)
  --description TEXT     what it demonstrates
  --category NAME        ${CATEGORIES.join(', ')} (default: happy_path)
  --expires-days N       days until it expires (default: 180 for recorded goldens, never for scripted ones)
  --as-recorded          the base URL is a gateway to the provider's real API
${RUN_FLAGS_HELP}
  --json                 print what was written as JSON

A golden is 'recorded' if the provider's own API answered, else 'scripted'. Keys, cookies and account ids are left
out. The API key comes from OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_API_KEY, or from a .env file.

Exit codes: 0 recorded, 1 recorded and the model did not finish with an answer, 2 bad usage.`;

/** `mcp-observatory golden record`: runs one task and writes its golden. */
export const goldenRecordCommand: Command = {
  name: 'record',
  summary: 'run a task and write its golden',
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parse(args);
    const { provider, options } = await readRunRequest(values, positionals, io, NAME);
    const path = values.out;
    if (path === undefined) throw usageError(NAME, 'Expected --out FILE');
    const result = await mcpGhost({
      ...options,
      provider,
      apiKey: keyOf(provider, io),
      baseUrl: values['base-url'],
      api: values.api,
      golden: {
        mode: 'record',
        path,
        testName: values.name,
        description: values.description,
        category: categoryOf(values.category),
        expiresInDays: numberFlag(NAME, 'expires-days', values['expires-days']),
        source: values['as-recorded'] === true ? 'recorded' : undefined,
      },
    });
    const golden = await readGolden(path);
    const written = {
      path,
      test_name: golden.test_name,
      source: golden.source,
      success: result.success,
      exchanges: golden.provider_responses.length,
      tool_calls: golden.mcp_cassette?.calls.length ?? 0,
      expires_at: golden.expires_at,
    };
    io.stdout.write(
      values.json === true
        ? `${JSON.stringify(written, null, 2)}\n`
        : `${path}: ${written.source}, ${written.exchanges} exchanges, ${written.tool_calls} tool calls\n`,
    );
    if (!result.success) io.stderr.write(`${result.summary}\n`);
    return result.success ? EXIT_OK : EXIT_FAILED;
  },
};

/** The command's environment, if it is not that of the process. */
function keyOf(provider: string, io: CommandIo): string | undefined {
  const names: Record<string, readonly string[]> = {
    openai: ['OPENAI_API_KEY'],
    anthropic: ['ANTHROPIC_API_KEY'],
    gemini: ['GOOGLE_API_KEY', 'GEMINI_API_KEY'],
  };
  return names[provider]?.map((name) => io.env[name]).find((value) => value !== undefined && value !== '');
}

function categoryOf(value: string | undefined): GoldenCategory | undefined {
  if (value === undefined) return undefined;
  const category = CATEGORIES.find((one) => one === value);
  if (category === undefined) {
    throw usageError(NAME, `Expected --category to be one of ${CATEGORIES.join(', ')}, got '${value}'`);
  }
  return category;
}

const FLAGS = {
  ...RUN_FLAGS,
  out: { type: 'string' },
  name: { type: 'string' },
  description: { type: 'string' },
  category: { type: 'string' },
  'expires-days': { type: 'string' },
  'as-recorded': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: FLAGS });
  } catch (error) {
    throw usageError(NAME, (error as Error).message);
  }
}
