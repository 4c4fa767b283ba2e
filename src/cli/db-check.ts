import { formatPlural, snakeKeys } from '../base/index.ts';
import { checkStore, type RepriceResult, reprice, type StoreFinding } from '../postgres/index.ts';
import { formatUsd } from '../runs/index.ts';
import {
  ageFlag,
  type CommandIo,
  EXIT_FAILED,
  EXIT_OK,
  type FlagValues,
  findOpenDatabase,
  print,
  readPrices,
} from './command-line/index.ts';
import { printableLine } from './terminal/index.ts';

type Values = FlagValues<'database-url' | 'data-dir' | 'since' | 'prices', 'dry-run' | 'json'>;

/** How long each question of `db check` may take. */
const TIMEOUT_MS = 20_000;

/** `db check`: what cannot be right in a store. */
export async function runCheck(values: Values, io: CommandIo): Promise<number> {
  const since = toSince(values);
  await using db = await findOpenDatabase(values, io);
  const { findings, unanswered } = await checkStore(db, { since, timeoutMs: TIMEOUT_MS });
  const isClean = findings.length === 0 && unanswered.length === 0;
  if (values.json) {
    print(io, { database: db.name, since, clean: isClean, findings: findings.map(snakeKeys), unanswered });
  } else {
    const from = `${db.name}, from ${since.toISOString()} on`;
    const head = isClean ? `${from}: nothing found that cannot be right` : from;
    const late = unanswered.map((name) => `  ${name}: not answered in time; ask for less with --since`);
    print(io, [head, ...findings.flatMap(listLines), ...late].map(printableLine).join('\n'));
  }
  return isClean ? EXIT_OK : EXIT_FAILED;
}

function listLines({ name, rows, says, detail, tokens, costUsd, todo }: StoreFinding): string[] {
  const which = detail === null ? '' : ` (${detail})`;
  const amount = `${count(tokens)} tokens, ${formatUsd(costUsd)}`;
  return [`  ${name} (${count(rows)}): ${says}${which}; ${amount}`, `    ${todo}`];
}

/** `db reprice`: costs computed again. */
export async function runReprice(values: Values, io: CommandIo): Promise<number> {
  const since = toSince(values);
  const prices = values.prices === undefined ? undefined : await readPrices(values.prices);
  const isDryRun = values['dry-run'] === true;
  await using db = await findOpenDatabase(values, io);
  const result = await reprice(db, { since, prices, isDryRun });
  print(
    io,
    values.json
      ? { database: db.name, since, dry_run: isDryRun, ...repriceJson(result) }
      : formatReprice(db.name, result, isDryRun),
  );
  return EXIT_OK;
}

function repriceJson({ newlyUnpriced, kept, ...figures }: RepriceResult): object {
  // The keys of these are words of the column cost_source.
  return { ...snakeKeys(figures), newly_unpriced: newlyUnpriced, kept };
}

function formatReprice(database: string, result: RepriceResult, isDryRun: boolean): string {
  const { checked, changed, beforeUsd, afterUsd, newlyPriced, newlyUnpriced, kept, daysGone } = result;
  const changes = isDryRun ? 'would change' : 'changed';
  const lines = [
    `${database}: ${count(changed)} of ${formatPlural(checked, 'call')} ${changes}; ${formatUsd(beforeUsd)} before, ${formatUsd(afterUsd)} after`,
    ...(newlyPriced === 0 ? [] : [`  newly priced: ${formatPlural(newlyPriced, 'call')}`]),
    ...Object.entries(newlyUnpriced).map(
      ([source, rows]) => `  no longer priced: ${formatPlural(rows, 'call')}, ${source}`,
    ),
    ...Object.entries(kept).map(
      ([source, rows]) =>
        `  cost kept: ${formatPlural(rows, 'call')}, ${source}${source === 'override' ? ', your own prices; give them with --prices' : ''}`,
    ),
    ...(daysGone.length === 0
      ? []
      : [`  the rows of these days are pruned or archived, and their sums stay: ${daysGone.join(', ')}`]),
  ];
  return lines.map(printableLine).join('\n');
}

function toSince({ since = '7d' }: Values): Date {
  return ageFlag('--since', since);
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
