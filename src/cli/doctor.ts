import { parseArgs } from 'node:util';
import { errorMessage, ObservatoryError } from '../base/index.ts';
import { diagnose } from '../setup/index.ts';
import { type Command, EXIT_FAILED, EXIT_OK } from './command-line/index.ts';

const HELP = `Usage: mcp-observatory doctor [options] [entry file]

Says what would be hooked in the application of this folder, in which versions, and what is misconfigured.
With an entry file it also says whether SDKs are bundled into it, where no hook can reach them.

Options:
  --folder DIR   folder of the application (default: the current one)
  --json         print one JSON document
  --help         print this

Exit code 1 when a problem was found.`;

/** `mcp-observatory doctor`. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Show what would be hooked, in which versions, and what is misconfigured',
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parse(args);
    const folder = values.folder ?? process.cwd();
    const diagnosis = await diagnose({ folder, entry: positionals[0], env: io.env });
    if (values.json === true) io.stdout.write(`${JSON.stringify(diagnosis)}\n`);
    else io.stdout.write(`${render(diagnosis)}\n`);
    return diagnosis.problems.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { folder: { type: 'string' }, json: { type: 'boolean' } },
    });
  } catch (error) {
    const message = errorMessage(error);
    throw new ObservatoryError('INVALID_OPTION', `${message}. See mcp-observatory doctor --help`, {
      cause: error,
    });
  }
}

function render({ runtime, modules, problems }: Awaited<ReturnType<typeof diagnose>>): string {
  const lines = [
    `mcp-observatory ${runtime.mcp_observatory}, node ${runtime.node}`,
    `@opentelemetry/api ${runtime.opentelemetry_api ?? 'missing'}, SDK ${runtime.opentelemetry_sdk ?? 'missing'}`,
    '',
  ];
  for (const { name, version, supported, state } of modules) {
    lines.push(`${name.padEnd(28)} ${(version ?? '-').padEnd(12)} ${state} (${supported})`);
  }
  lines.push('', problems.length === 0 ? 'No problem found.' : 'Problems:');
  for (const { code, message } of problems) lines.push(`- ${code}: ${message}`);
  return lines.join('\n');
}
