import { snakeKeys } from '../../base/index.ts';
import { type Command, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from '../command-line/index.ts';
import { formatTable, type Paint, printableLine } from '../terminal/index.ts';
import { ageWords } from './inspect/index.ts';
import { type GoldenLibrary, type ListedGolden, listGoldens } from './listing.ts';

const HELP = `Usage: mcp-observatory golden list [DIR] [options]

Lists the goldens below DIR (default: goldens): category, provider, model, source, age, and what they cover: tools
that are called (and those that never are), and kinds of failure.

  --mutate       change the run of each golden in up to 15 ways, and show how many changes it catches
  --unreviewed   only goldens that no person has approved as they are ('golden approve')
  --strict       exit code 1 also when a golden has expired or was edited by hand; with --unreviewed, when there is any
  --json         one JSON object {goldens, unreadable, coverage: {tools, error_kinds}}

Exit code 1 if a file of the folder cannot be read. Other files in a folder named shared are ignored.`;

/** `golden list`: the goldens of a folder and what they cover. */
export const goldenListCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const options = {
      strict: { type: 'boolean' },
      mutate: { type: 'boolean' },
      unreviewed: { type: 'boolean' },
      json: { type: 'boolean' },
    } as const;
    const { values, positionals } = readFlags(args, options, true);
    const [folder = 'goldens', ...more] = positionals;
    if (more.length > 0) throw usageError(`Expected one folder, got ${positionals.length}`);
    const now = new Date();
    const all = await listGoldens(folder, now, values.mutate);
    const isUnreviewed = values.unreviewed === true;
    const goldens = isUnreviewed ? all.goldens.filter(({ approved }) => !approved) : all.goldens;
    const library = { ...all, goldens };
    const { paint } = io.stdout;
    const none = isUnreviewed && all.goldens.length > 0 ? 'All goldens are approved in' : 'No goldens in';
    print(
      io,
      values.json ? toWire(library, now) : format(library, `${none} ${printableLine(folder)}`, now, paint),
    );
    const doubtful = goldens.some(({ problems }) => isUnreviewed || problems.length > 0);
    return library.unreadable.length > 0 || (values.strict === true && doubtful) ? EXIT_FAILED : EXIT_OK;
  },
};

function format(
  { goldens, unreadable, coverage }: GoldenLibrary,
  none: string,
  now: Date,
  paint: Paint,
): string {
  const blocks: string[] = [];
  if (goldens.length === 0) blocks.push(none);
  else
    blocks.push(
      formatTable(
        columns(
          now,
          goldens.some(({ effectiveness }) => effectiveness),
        ),
        goldens,
      ),
    );
  blocks.push(
    ...goldens.flatMap(({ file, effectiveness: { missed = [] } = {} }) =>
      missed.length === 0 ? [] : [paint('dim', `${printableLine(file)} misses: ${missed.join('; ')}`)],
    ),
    ...goldens.flatMap(({ problems }) =>
      problems.map(({ message }) => paint('yellow', `! ${printableLine(message)}`)),
    ),
    ...unreadable.map(({ file, message }) =>
      paint('red', `✖ ${printableLine(file)}: ${printableLine(message)}`),
    ),
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

function columns(now: Date, isMutated: boolean) {
  return [
    { title: 'golden', value: ({ file }: ListedGolden) => file },
    { title: 'category', value: ({ category }: ListedGolden) => category.replaceAll('_', ' ') },
    { title: 'provider', value: ({ provider }: ListedGolden) => provider },
    { title: 'model', value: ({ model }: ListedGolden) => model },
    { title: 'source', value: ({ source }: ListedGolden) => source },
    { title: 'age', value: (golden: ListedGolden) => computeAge(golden, now) },
    { title: 'calls', align: 'right' as const, value: ({ exchanges }: ListedGolden) => String(exchanges) },
    ...(isMutated
      ? [
          {
            title: 'catches',
            align: 'right' as const,
            value: ({ effectiveness: found }: ListedGolden) => `${found?.caught ?? 0}/${found?.tried ?? 0}`,
          },
        ]
      : []),
    { title: 'trouble', value: ({ exercised }: ListedGolden) => words(exercised.errorKinds) },
  ];
}

function computeAge({ recordedAt, expired }: ListedGolden, now: Date): string {
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
  const entries = Object.entries(counts).map(([name, count]) => [printableLine(name), count] as const);
  const met = entries
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${paint('dim', `×${count}`)}`);
  const missing = entries.filter(([, count]) => count === 0).map(([name]) => name);
  const rest = missing.length === 0 ? '' : paint('yellow', `; not covered: ${missing.join(', ')}`);
  return `${met.join(', ') || 'none'}${rest}`;
}

function toWire({ goldens, unreadable, coverage }: GoldenLibrary, now: Date): object {
  return {
    goldens: goldens.map(({ exercised, recordedAt, ...golden }) => ({
      ...snakeKeys(golden),
      recorded_at: recordedAt,
      age_days:
        recordedAt === null ? null : Math.floor((now.getTime() - Date.parse(recordedAt)) / 86_400_000),
      tools: [...exercised.called],
      error_kinds: [...exercised.errorKinds],
    })),
    unreadable,
    coverage: snakeKeys(coverage),
  };
}
