/**
 * Programs that run the program in their words. What is missing here runs another program all the same: a rule that allows
 * `awk` or `python` allows whatever these can do.
 */
import type { CommandWord } from './actions.ts';

interface Runner {
  /** Options without a value. */
  readonly flags?: string;
  /** Options whose value is the next word. */
  readonly valued?: string;
  /** Operands before the program. */
  readonly operands?: number;
  readonly assigns?: boolean;
  /** Whether more words than are written may come to the program. */
  readonly adds?: boolean;
  /** The option whose value stands for text that is not in the command, in any word. */
  readonly replaces?: string;
  /** What runs if no program is named; undefined: nothing. */
  readonly otherwise?: string;
}

/** By their manuals: POSIX.1-2024, GNU coreutils 9, findutils 4.9, util-linux 2.39, bash 5.2, sudo 1.9. */
const RUNNERS: Readonly<Record<string, Runner>> = {
  builtin: {},
  chroot: { operands: 1, otherwise: 'sh' },
  command: { flags: '-p -v -V' },
  doas: { flags: '-n', valued: '-u' },
  env: { flags: '-i - -0 --ignore-environment --null', valued: '-u -C --unset --chdir', assigns: true },
  exec: { flags: '-c -l', valued: '-a' },
  ionice: { flags: '-t', valued: '-c -n' },
  nice: { valued: '-n' },
  nohup: {},
  setsid: { flags: '-c -f -w' },
  stdbuf: { valued: '-i -o -e' },
  sudo: { flags: '-n -E -H -k -S -b', valued: '-u -g -h -p -C', assigns: true },
  time: { flags: '-p -v' },
  timeout: { flags: '-f -v --foreground --preserve-status', valued: '-k -s', operands: 1 },
  unbuffer: {},
  xargs: {
    flags: '-0 -r -t -x -o --null --no-run-if-empty',
    valued: '-n -P -I -L -d -s -a -E',
    adds: true,
    replaces: '-I',
    otherwise: 'echo',
  },
};

/** A program that another one runs. */
export interface InnerCommand {
  readonly words: readonly CommandWord[];
  readonly adds: boolean;
  readonly assigned: readonly string[];
}

/** The program that a runner runs; undefined for what runs none, `unknown` for options that are not known. */
export function innerCommand(
  program: string,
  words: readonly CommandWord[],
): InnerCommand | 'unknown' | undefined {
  if (program === 'find') return findCommand(words);
  const runner = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  if (runner === undefined) return undefined;
  const flags = (runner.flags ?? '').split(' ');
  const valued = (runner.valued ?? '').split(' ');
  let replaced: string | undefined;
  let at = 0;
  for (; at < words.length; at += 1) {
    const word = words[at]?.value;
    if (word === undefined) return 'unknown';
    if (word === '--') {
      at += 1;
      break;
    }
    if (!word.startsWith('-')) break;
    if (flags.includes(word)) continue;
    const replaces = runner.replaces !== undefined && word.startsWith(runner.replaces);
    if (replaces) replaced = word.slice(2) || words[at + 1]?.value;
    if (valued.includes(word)) at += 1;
    else if (!isAttached(word, valued)) return 'unknown';
  }
  const assigned: string[] = [];
  for (; runner.assigns === true; at += 1) {
    const name = assignedName(words[at]);
    if (name === undefined) break;
    assigned.push(name);
  }
  const inner = withoutText(words.slice(at + (runner.operands ?? 0)), replaced);
  const adds = runner.adds === true;
  if (inner.length > 0) return { words: inner, adds, assigned };
  const { otherwise } = runner;
  if (otherwise !== undefined)
    return { words: [{ text: otherwise, value: otherwise }], adds: true, assigned };
  return { words: [], adds, assigned };
}

/** The variable of a word that gives it a value, also in quotes. */
export function assignedName(word: CommandWord | undefined): string | undefined {
  return /^["']?([^\s"'=$`\\-][^\s"'=$`\\]*?)\+?=/.exec(word?.value ?? word?.text ?? '')?.[1];
}

/** Words in which something else will stand for a text. */
function withoutText(words: readonly CommandWord[], replaced: string | undefined): readonly CommandWord[] {
  if (replaced === undefined || replaced === '') return words;
  return words.map((word) =>
    word.value?.includes(replaced) === true ? { text: word.value, value: undefined } : word,
  );
}

/** `-n5`, `-I{}`, `--signal=KILL`: an option with its value in one word. */
function isAttached(word: string, valued: readonly string[]): boolean {
  return valued.some((option) =>
    option.startsWith('--') ? word.startsWith(`${option}=`) : option !== '' && word.startsWith(option),
  );
}

const FIND_RUNS = ['-exec', '-execdir', '-ok', '-okdir'];

/** The first program that `find` runs; where it runs several, the words after the first are for a person to read. */
function findCommand(words: readonly CommandWord[]): InnerCommand | 'unknown' | undefined {
  const runs = words.flatMap(({ value }, index) => (FIND_RUNS.includes(value ?? '') ? [index] : []));
  const [first] = runs;
  if (first === undefined) return words.some(({ value }) => value === undefined) ? 'unknown' : undefined;
  if (runs.length > 1) return 'unknown';
  const rest = words.slice(first + 1);
  const end = rest.findIndex(
    ({ value }, index) => value === ';' || (value === '+' && rest[index - 1]?.value === '{}'),
  );
  const isHidden = [...words.slice(0, first), ...rest.slice(end)].some(({ value }) => value === undefined);
  if (end < 1 || isHidden) return 'unknown';
  return { words: withoutText(rest.slice(0, end), '{}'), adds: true, assigned: [] };
}

/** Shells that read what bash reads, as far as their grammar goes. */
const SHELLS: readonly string[] = ['sh', 'bash', 'dash'];
const OTHER_SHELLS: readonly string[] = [
  'zsh',
  'ksh',
  'mksh',
  'ash',
  'fish',
  'csh',
  'tcsh',
  'busybox',
  'pwsh',
  'powershell',
  'cmd',
];

/** The code that a shell runs from its words; `unknown` where it comes from elsewhere. */
export function shellCode(program: string, words: readonly CommandWord[]): string | 'unknown' | undefined {
  if (program === 'eval') {
    const values = words.map(({ value }) => value);
    return values.includes(undefined) ? 'unknown' : values.join(' ');
  }
  if (program === 'source' || program === '.' || OTHER_SHELLS.includes(program)) return 'unknown';
  if (program === 'trap') return words.length === 0 ? undefined : 'unknown';
  if (!SHELLS.includes(program)) return undefined;
  const [option, code] = words;
  if (option === undefined || !/^-[elux]*c[elux]*$/.test(option.value ?? '')) return 'unknown';
  return code?.value ?? 'unknown';
}
