import { snakeKeys } from '../../base/index.ts';
import { inspectGolden } from '../../golden/index.ts';
import { type Command, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from '../command-line/index.ts';
import { formatTable, type Paint, printableLine } from '../terminal/index.ts';
import { costWords, countWords, durationWords } from './inspect/index.ts';
import { type CallPair, type SideBySide, type SideFacts, sideBySide } from './side-by-side.ts';

const HELP = `Usage: mcp-observatory golden compare A B [--json]

Compares two goldens of one task, with two providers or models: outcome, tool calls in order with their arguments,
failures and recoveries, answers, tokens, cost and time.

Exit code 1 if the behavior differs: outcome, calls, arguments or recoveries. Wording, tokens, cost and time are shown
but do not count. Different inputs are reported first.`;

const MAX_SHOWN = 70;

/** `golden compare`: the same task, two providers. */
export const goldenCompareCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = readFlags(args, { json: { type: 'boolean', default: false } }, true);
    const [a, b, ...more] = positionals;
    if (a === undefined || b === undefined || more.length > 0) {
      throw usageError(`Expected two goldens, got ${positionals.length} files`);
    }
    const compared = sideBySide((await inspectGolden(a)).golden, (await inspectGolden(b)).golden);
    print(io, values.json ? toWire(compared) : format(compared, io.stdout.paint));
    return compared.differences.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

function format(compared: SideBySide, paint: Paint): string {
  const { a, b, inputDifferences, differences, calls, answerOverlap } = compared;
  const lines: string[] = [];
  if (inputDifferences.length > 0) {
    lines.push(paint('yellow', `Not the same task: ${inputDifferences.join(', ')} differ`), '');
  }
  lines.push(formatTable(columns(a, b), factRows(a, b)), '');
  if (calls.length > 0) lines.push(...calls.map((pair) => callLine(pair, paint)), '');
  lines.push(...answerLines(compared, paint), '');
  const overlap =
    answerOverlap === null ? '' : `; the answers share ${Math.round(answerOverlap * 100)} % of their words`;
  lines.push(
    differences.length === 0
      ? paint('green', `✔ the same behavior${overlap}`)
      : paint('red', `✖ different: ${differences.map(printableLine).join('; ')}${overlap}`),
  );
  return lines.join('\n');
}

type FactRow = readonly [name: string, a: string, b: string];

function columns(a: SideFacts, b: SideFacts) {
  const name = (side: SideFacts): string => `${side.provider} ${side.model}`;
  return [
    { title: '', value: (row: FactRow) => row[0] },
    { title: `A  ${name(a)}`, value: (row: FactRow) => row[1] },
    { title: `B  ${name(b)}`, value: (row: FactRow) => row[2] },
  ];
}

function factRows(a: SideFacts, b: SideFacts): FactRow[] {
  const row = (name: string, value: (side: SideFacts) => string): FactRow => [name, value(a), value(b)];
  return [
    row('golden', ({ testName, source }) => `${testName} (${source})`),
    row('outcome', ({ outcome }) => outcome.replaceAll('_', ' ')),
    row('turns', ({ turns }) => String(turns)),
    row('tool calls', ({ toolCalls, failedToolCalls }) =>
      failedToolCalls === 0 ? String(toolCalls) : `${toolCalls} (${failedToolCalls} failed)`,
    ),
    row('tokens', ({ totalTokens }) => (totalTokens === null ? 'unknown' : countWords(totalTokens))),
    row('cost', ({ costUsd }) => costWords(costUsd ?? undefined)),
    row('model time', ({ modelMs }) => durationWords(modelMs ?? undefined)),
    ...(a.elapsedMs === null && b.elapsedMs === null
      ? []
      : [row('first to last request', ({ elapsedMs }) => durationWords(elapsedMs ?? undefined))]),
  ];
}

const MARK = { same: '=', arguments: '≠', outcome: '≠', only_a: 'A', only_b: 'B' } as const;
const STYLE = { same: 'dim', arguments: 'yellow', outcome: 'yellow', only_a: 'red', only_b: 'red' } as const;

function callLine({ tool, verdict, a, b }: CallPair, paint: Paint): string {
  const head = `${paint(STYLE[verdict], MARK[verdict])} ${paint('bold', printableLine(tool))}`;
  if (verdict === 'same' || a === null || b === null) return `${head} ${short(a ?? b ?? '')}`;
  return `${head}\n    A ${short(a)}\n    B ${short(b)}`;
}

function answerLines({ a, b }: SideBySide, paint: Paint): string[] {
  return [`${paint('bold', 'A')} ${short(a.answer, 400)}`, `${paint('bold', 'B')} ${short(b.answer, 400)}`];
}

function short(text: string, most = MAX_SHOWN): string {
  return printableLine((text.length > most ? `${text.slice(0, most)}…` : text).replaceAll('\n', ' '));
}

function toWire(comparison: SideBySide): object {
  return {
    same: comparison.differences.length === 0,
    ...snakeKeys(comparison),
    a: snakeKeys(comparison.a),
    b: snakeKeys(comparison.b),
  };
}
