import { parseArgs } from 'node:util';
import { ObservatoryError } from '../../base/index.ts';
import {
  type Drift,
  type DriftFinding,
  type DriftLevel,
  detectDrift,
  inspectGolden,
} from '../../golden/index.ts';
import { type Command, EXIT_FAILED, EXIT_OK } from '../command-line/index.ts';
import { type Paint, paintFor, printable } from '../terminal/index.ts';

const LEVELS = ['info', 'warning', 'failure'] as const;

const HELP = `Usage: mcp-observatory golden drift OLD NEW [options]

Compares a new recording of a run with the old one: did the shape of the provider's responses change, or the model's
behavior?

  info      a new field, a field that became null, changed versions or wording
  warning   a removed field, many more tokens, different requests
  failure   a changed type, status, finish reason, call or argument; an added or missing error

  --fail-on LEVEL   exit with 1 from this level on: info, warning or failure (default: failure)
  --json            one JSON object {verdict, findings: [{level, place, message, exchanges}]}

Expired goldens may be compared.`;

/** `golden drift`: compares an old and a new recording. */
export const goldenDriftCommand: Command = {
  name: 'drift',
  summary: 'compare an old and a new recording of a run',
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'fail-on': { type: 'string', default: 'failure' },
        json: { type: 'boolean', default: false },
      },
    });
    const failOn = levelOf(values['fail-on']);
    const [before, after, ...more] = positionals;
    if (before === undefined || after === undefined || more.length > 0) {
      throw new ObservatoryError(
        'INVALID_OPTION',
        `Expected two goldens, OLD and NEW, got ${positionals.length} files`,
      );
    }
    const drift = detectDrift((await inspectGolden(before)).golden, (await inspectGolden(after)).golden);
    io.stdout.write(
      `${values.json ? JSON.stringify(drift) : formatDrift(drift, paintFor(io.stdout, io.env))}\n`,
    );
    const failed = drift.verdict !== 'none' && LEVELS.indexOf(drift.verdict) >= LEVELS.indexOf(failOn);
    return failed ? EXIT_FAILED : EXIT_OK;
  },
};

function levelOf(word: string): DriftLevel {
  const level = LEVELS.find((one) => one === word);
  if (level !== undefined) return level;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected --fail-on to be info, warning or failure, got '${word}'`,
  );
}

const STYLE = { info: 'cyan', warning: 'yellow', failure: 'red' } as const;

function formatDrift({ findings }: Drift, paint: Paint): string {
  if (findings.length === 0) return 'No drift: the same form, the same behavior';
  return findings.map((finding) => formatFinding(finding, paint)).join('\n');
}

function formatFinding({ level, place, message, exchanges }: DriftFinding, paint: Paint): string {
  const where =
    exchanges.length === 0
      ? ''
      : paint('dim', ` (exchange${exchanges.length === 1 ? '' : 's'} ${exchanges.join(', ')})`);
  return `${paint(STYLE[level], level.padEnd(7))}  ${paint('bold', printable(place))}  ${printable(message)}${where}`;
}
