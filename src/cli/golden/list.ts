import { parseArgs } from 'node:util';
import { ObservatoryError } from '../../base/index.ts';
import { type Command, EXIT_FAILED, EXIT_OK } from '../command-line/index.ts';
import { formatTable, type Paint, paintFor, printable } from '../terminal/index.ts';
import { ageWords } from './inspect/index.ts';
import { type GoldenLibrary, type ListedGolden, listGoldens } from './listing.ts';

const HELP = `Usage: mcp-observatory golden list [DIR] [options]

Lists the goldens below DIR (default: goldens): category, provider, model, source, age, and what they cover: tools
that are called (and those that never are), and kinds of failure.

  --strict   exit code 1 also when a golden has expired or was edited by hand
  --json     one JSON object {goldens, unreadable, coverage: {tools, error_kinds}}

Exit code 1 if a file cannot be read. Other files in a folder named shared are ignored.`;

/** `golden list`: the goldens of a folder and what they cover. */
export const goldenListCommand: Command = {
  name: 'list',
  summary: 'list the goldens of a folder, their age and coverage',
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { strict: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
    });
    const [folder = 'goldens', ...more] = positionals;
    if (more.length > 0) {
      throw new ObservatoryError('INVALID_OPTION', `Expected one folder, got ${positionals.length}`);
    }
    const now = new Date();
    const library = await listGoldens(folder, now);
    const text = values.json
      ? JSON.stringify(toWire(library, now))
      : format(library, folder, now, paintFor(io.stdout, io.env));
    io.stdout.write(`${text}\n`);
    const doubtful = library.goldens.some(({ problems }) => problems.length > 0);
    return library.unreadable.length > 0 || (values.strict && doubtful) ? EXIT_FAILED : EXIT_OK;
  },
};

function format(
  { goldens, unreadable, coverage }: GoldenLibrary,
  folder: string,
  now: Date,
  paint: Paint,
): string {
  const blocks: string[] = [];
  if (goldens.length === 0) blocks.push(`No goldens in ${folder}`);
  else blocks.push(formatTable(columns(now), goldens));
  blocks.push(
    ...goldens.flatMap(({ problems }) =>
      problems.map(({ message }) => paint('yellow', `! ${printable(message)}`)),
    ),
    ...unreadable.map(({ file, message }) => paint('red', `✖ ${printable(file)}: ${printable(message)}`)),
  );
  if (goldens.length > 0) {
    blocks.push(
      '',
      `${paint('bold', 'Tools')}   ${covered(coverage.tools, paint)}`,
      `${paint('bold', 'Trouble')} ${covered(renamed(coverage.errorKinds), paint)}`,
    );
  }
  return blocks.join('\n');
}

function columns(now: Date) {
  return [
    { title: 'golden', value: ({ file }: ListedGolden) => printable(file) },
    { title: 'category', value: ({ category }: ListedGolden) => category.replaceAll('_', ' ') },
    { title: 'provider', value: ({ provider }: ListedGolden) => printable(provider) },
    { title: 'model', value: ({ model }: ListedGolden) => printable(model) },
    { title: 'source', value: ({ source }: ListedGolden) => source },
    { title: 'age', value: (golden: ListedGolden) => ageOf(golden, now) },
    { title: 'calls', align: 'right' as const, value: ({ exchanges }: ListedGolden) => String(exchanges) },
    { title: 'trouble', value: ({ exercised }: ListedGolden) => words(exercised.errorKinds) },
  ];
}

function ageOf({ recordedAt, expired }: ListedGolden, now: Date): string {
  const age = recordedAt === null ? '-' : ageWords(recordedAt, now);
  return expired ? `${age}, expired` : age;
}

function words(kinds: ReadonlySet<string>): string {
  return [...kinds].map((kind) => kind.replaceAll('_', ' ')).join(', ');
}

function renamed(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).map(([kind, count]) => [kind.replaceAll('_', ' '), count]),
  );
}

/** Covered names with their counts, then the ones not covered. */
function covered(counts: Readonly<Record<string, number>>, paint: Paint): string {
  const entries = Object.entries(counts).map(([name, count]) => [printable(name), count] as const);
  const met = entries
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${paint('dim', `×${count}`)}`);
  const missing = entries.filter(([, count]) => count === 0).map(([name]) => name);
  const rest = missing.length === 0 ? '' : paint('yellow', `; not covered: ${missing.join(', ')}`);
  return `${met.join(', ') || 'none'}${rest}`;
}

function toWire({ goldens, unreadable, coverage }: GoldenLibrary, now: Date): object {
  return {
    goldens: goldens.map((golden) => ({
      file: golden.file,
      test_name: golden.testName,
      category: golden.category,
      provider: golden.provider,
      model: golden.model,
      source: golden.source,
      recorded_at: golden.recordedAt,
      age_days:
        golden.recordedAt === null
          ? null
          : Math.floor((now.getTime() - Date.parse(golden.recordedAt)) / 86_400_000),
      expires_at: golden.expiresAt,
      expired: golden.expired,
      problems: golden.problems,
      exchanges: golden.exchanges,
      tools: [...golden.exercised.called],
      error_kinds: [...golden.exercised.errorKinds],
    })),
    unreadable,
    coverage: { tools: coverage.tools, error_kinds: coverage.errorKinds },
  };
}
