import { inflect } from '../../base/index.ts';
import { type Drift, type DriftFinding, detectDrift, inspectGolden } from '../../golden/index.ts';
import {
  type Command,
  EXIT_FAILED,
  EXIT_OK,
  print,
  readFlags,
  usageError,
  wordFlag,
} from '../command-line/index.ts';
import { type Paint, printableLine } from '../terminal/index.ts';

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
  help: HELP,
  run: async (args, io) => {
    const options = {
      'fail-on': { type: 'string', default: 'failure' },
      json: { type: 'boolean', default: false },
    } as const;
    const { values, positionals } = readFlags(args, options, true);
    const failOn = wordFlag('--fail-on', LEVELS, values['fail-on']);
    const [before, after, ...more] = positionals;
    if (before === undefined || after === undefined || more.length > 0) {
      throw usageError(`Expected two goldens, OLD and NEW, got ${positionals.length} files`);
    }
    const drift = detectDrift((await inspectGolden(before)).golden, (await inspectGolden(after)).golden);
    print(io, values.json ? drift : formatDrift(drift, io.stdout.paint));
    const failed = drift.verdict !== 'none' && LEVELS.indexOf(drift.verdict) >= LEVELS.indexOf(failOn);
    return failed ? EXIT_FAILED : EXIT_OK;
  },
};

const STYLE = { info: 'cyan', warning: 'yellow', failure: 'red' } as const;

function formatDrift({ findings }: Drift, paint: Paint): string {
  if (findings.length === 0) return 'No drift: the same form, the same behavior';
  return findings.map((finding) => formatFinding(finding, paint)).join('\n');
}

function formatFinding({ level, place, message, exchanges }: DriftFinding, paint: Paint): string {
  const where =
    exchanges.length === 0
      ? ''
      : paint('dim', ` (${inflect(exchanges.length, 'exchange')} ${exchanges.join(', ')})`);
  return `${paint(STYLE[level], level.padEnd(7))}  ${paint('bold', printableLine(place))}  ${printableLine(message)}${where}`;
}
