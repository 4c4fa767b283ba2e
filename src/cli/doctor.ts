import { type Destination, diagnose, tryDestinations } from '../setup/index.ts';
import { type Command, EXIT_FAILED, EXIT_OK, print, readFlags } from './command-line/index.ts';
import { printableLine } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory doctor [options] [entry file]

Lists the SDKs that would be traced in the application of this folder, with their versions, where spans and metrics
would be sent, whether those places accept them, and what is misconfigured. With an entry file it also finds SDKs
bundled into it, which no hook reaches.

Options:
  --folder DIR   folder of the application (default: the current one)
  --json         print one JSON document
  --help         print this

Exit code 1 when a problem was found.`;

export const doctorCommand: Command = {
  help: HELP,
  async run(args, io) {
    const options = { folder: { type: 'string' }, json: { type: 'boolean' } } as const;
    const { values, positionals } = readFlags(args, options, true);
    const folder = values.folder ?? process.cwd();
    const [found, destinations] = await Promise.all([
      diagnose({ folder, entry: positionals[0], env: io.env }),
      tryDestinations(io.env),
    ]);
    const problems = [...found.problems, ...destinations.flatMap(findProblem)];
    const diagnosis = { ...found, destinations, problems };
    print(io, values.json === true ? diagnosis : render(diagnosis));
    return diagnosis.problems.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

function findProblem({ what, address, problem }: Destination): readonly { code: string; message: string }[] {
  if (problem === null) return [];
  const remedy =
    'Start what should receive them, or set OTEL_EXPORTER_OTLP_ENDPOINT or MCP_OBSERVATORY_DATABASE_URL. ' +
    'OTEL_TRACES_EXPORTER=none sends no spans over OTLP';
  return [{ code: 'NOT_RECEIVED', message: `${address} does not accept ${what}: ${problem}. ${remedy}` }];
}

type Findings = Awaited<ReturnType<typeof diagnose>> & { readonly destinations: readonly Destination[] };

function render({ runtime, modules, destinations, problems }: Findings): string {
  const lines = [
    `mcp-observatory ${runtime.mcp_observatory}, node ${runtime.node}`,
    `@opentelemetry/api ${runtime.opentelemetry_api ?? 'missing'}, SDK ${runtime.opentelemetry_sdk ?? 'missing'}`,
    '',
  ];
  const width = Math.max(...modules.map(({ name }) => name.length));
  for (const { name, version, supported, state } of modules) {
    lines.push(`${name.padEnd(width)} ${printableLine(version ?? '-').padEnd(12)} ${state} (${supported})`);
  }
  lines.push('');
  if (destinations.length === 0) lines.push('Nothing is sent.');
  for (const { what, address, problem } of destinations) {
    lines.push(
      `${what} go to ${address}, which ${problem === null ? 'accepts them' : 'does not accept them'}`,
    );
  }
  if (destinations.some(({ what }) => what === 'spans')) {
    lines.push(
      'Where the application starts its own SDK, spans go where that sends them, and to the database where that SDK takes span processors.',
    );
  }
  lines.push('', problems.length === 0 ? 'No problem found.' : 'Problems:');
  for (const { code, message } of problems) lines.push(`- ${code}: ${printableLine(message)}`);
  return lines.join('\n');
}
