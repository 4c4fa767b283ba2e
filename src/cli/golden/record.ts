import { GOLDEN_CATEGORIES, mcpGhost, readGolden } from '../../golden/index.ts';
import {
  type Command,
  EXIT_FAILED,
  EXIT_OK,
  findKey,
  numberFlag,
  print,
  RUN_FLAGS,
  RUN_FLAGS_HELP,
  readFlags,
  readRunRequest,
  usageError,
  wordFlag,
} from '../command-line/index.ts';
import { openAuditLog, openGateIfGiven, POLICY_FLAGS, POLICY_FLAGS_HELP } from '../policy-options/index.ts';
import { printableLine } from '../terminal/index.ts';

const HELP = `Usage: mcp-observatory golden record --provider NAME --out FILE [options] "prompt"

Runs a task like 'mcp-observatory run', and writes its golden.

  --out FILE             file to write, for instance goldens/openai/refund.json
  --name TEXT            name of the golden (default: that of the file)
  --description TEXT     what it demonstrates
  --category NAME        ${GOLDEN_CATEGORIES.join(', ')} (default: happy_path)
  --expires-days N       days until it expires (default: 180 for recorded goldens, never for scripted ones)
  --as-recorded          the base URL is a gateway to the provider's real API
${RUN_FLAGS_HELP}
${POLICY_FLAGS_HELP}
  --json                 print what was written as JSON

A golden is 'recorded' if the provider's own API answered, else 'scripted'. Keys, cookies and account ids are left
out. The API key comes from OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_API_KEY, or from a .env file.

Exit codes: 0 recorded, 1 recorded and the model did not finish with an answer, 2 bad usage
or a file that cannot be read.`;

/** `mcp-observatory golden record`: runs one task and writes its golden. */
export const goldenRecordCommand: Command = {
  help: HELP,
  async run(args, io) {
    const { values, positionals } = readFlags(args, FLAGS, true);
    const { provider, options } = await readRunRequest(values, positionals, io);
    const path = values.out;
    if (path === undefined) throw usageError('Expected --out FILE');
    using gate = openGateIfGiven(values, io.env);
    using audit = gate && openAuditLog(io.env);
    const result = await mcpGhost({
      ...options,
      gate,
      audit,
      provider,
      apiKey: findKey(provider, io),
      baseUrl: values['base-url'],
      api: values.api,
      golden: {
        mode: 'record',
        path,
        testName: values.name,
        description: values.description,
        category: wordFlag('--category', GOLDEN_CATEGORIES, values.category),
        expiresInDays: numberFlag('--expires-days', values['expires-days']),
        source: values['as-recorded'] === true ? 'recorded' : undefined,
      },
    });
    // A warning has said why.
    if (result.executionMetadata.goldenProblem !== undefined) return EXIT_FAILED;
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
    const { source, exchanges, tool_calls: calls } = written;
    const summary = printableLine(`${path}: ${source}, ${exchanges} exchanges, ${calls} tool calls`);
    print(io, values.json === true ? JSON.stringify(written, null, 2) : summary);
    if (!result.success) io.stderr.writeLine(result.summary);
    return result.success ? EXIT_OK : EXIT_FAILED;
  },
};

const FLAGS = {
  ...RUN_FLAGS,
  ...POLICY_FLAGS,
  out: { type: 'string' },
  name: { type: 'string' },
  description: { type: 'string' },
  category: { type: 'string' },
  'expires-days': { type: 'string' },
  'as-recorded': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;
