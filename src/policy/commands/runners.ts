/**
 * Programs that run the program in their words, and words that are code. What is missing here runs another program all the
 * same: a rule that allows `make` or `python` allows what is in their files.
 */
import type { CommandWord } from './actions.ts';
import { looksLikeCode } from './any-program.ts';
import { isPackager } from './packagers.ts';

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

/** They fetch the program where it is not there. */
const FETCHED: Runner = { flags: '-y --yes --no --no-install -q --quiet' };

/** By their manuals: POSIX.1-2024, GNU coreutils 9, findutils 4.9, util-linux 2.39, bash 5.2, sudo 1.9. */
const RUNNERS: Readonly<Record<string, Runner>> = {
  builtin: {},
  chroot: { operands: 1, otherwise: 'sh' },
  command: { flags: '-p -v -V' },
  doas: { flags: '-n', valued: '-u' },
  env: {
    flags: '-i - -0 --ignore-environment --null',
    valued: '-u -C --unset --chdir',
    assigns: true,
    otherwise: 'printenv',
  },
  ...{ npx: FETCHED, pnpx: FETCHED, bunx: FETCHED, uvx: FETCHED },
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
  'uv run': { flags: '--frozen --locked --offline --no-sync -q --quiet' },
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
  if (/^python[\d.]*$/.test(program)) return moduleCommand(words);
  const runner = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  // `npm exec`, `bundle exec`, `uv run`: what follows is a command.
  const verb = words[0]?.value;
  if (runner === undefined && (verb === 'exec' || (verb === 'run' && RUNS_PROGRAMS.test(program))))
    return innerCommand(verb === 'run' ? 'uv run' : 'builtin', words.slice(1));
  // Options before the verb may say how the words are run: as code, in another folder.
  if (isPackager(program) && verb?.startsWith('-') && words.some(({ value }) => value === 'exec'))
    return 'unknown';
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

const RUNS_PROGRAMS = /^(?:uv|poetry|pipenv|pdm|rye|pipx|hatch|conda|mamba)$/;

/** `python -Bm pytest x`: a module is a program by its own name. */
function moduleCommand(words: readonly CommandWord[]): InnerCommand | 'unknown' | undefined {
  for (let at = 0; at < words.length; at += 1) {
    const [, joined] = /^-[bBdEhiIOPqsSuvVx?]*m(.*)$/s.exec(words[at]?.value ?? '') ?? [];
    if (joined !== undefined) {
      const named = joined === '' ? words[at + 1] : { text: joined, value: joined };
      if (named?.value === undefined) return 'unknown';
      return { words: [named, ...words.slice(at + (joined === '' ? 2 : 1))], adds: false, assigned: [] };
    }
    if (/^-[bBdEhiIOPqsSuvVx?]*[WX]$/.test(words[at]?.value ?? '')) at += 1;
    else if (words[at]?.value?.startsWith('-') !== true) return undefined;
  }
  return undefined;
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
  return { words: withoutText(rest.slice(0, end), '{}'), adds: false, assigned: [] };
}

/** Shells that read what bash reads, as far as their grammar goes. */
const SHELLS: readonly string[] = ['sh', 'bash', 'dash'];
/** The code that a shell runs from its words; `unknown` where it comes from elsewhere. */
export function shellCode(program: string, words: readonly CommandWord[]): string | 'unknown' | undefined {
  if (program === 'eval') {
    const values = words.map(({ value }) => value);
    return values.includes(undefined) ? 'unknown' : values.join(' ');
  }
  if (program === 'source' || program === '.') return 'unknown';
  if (program === 'trap') return words.length === 0 ? undefined : 'unknown';
  if (!SHELLS.includes(program)) return undefined;
  const [option, code] = words;
  if (option === undefined || !/^-[elux]*c[elux]*$/.test(option.value ?? '')) return 'unknown';
  return code?.value ?? 'unknown';
}

/** Programs that run what they are given in forms of their own. */
const OPAQUE = new Set(
  `zsh ksh mksh ash fish csh tcsh busybox pwsh powershell cmd chronic taskset tcpdump at batch crontab su runuser pkexec script watch parallel flock strace ltrace gdb lldb expect unshare nsenter ssh screen tmux
  xterm bind complete enable fc hash start-stop-daemon systemd-run entr run-parts valgrind perf capsh prlimit setarch rlwrap ed osascript socat
  firejail bwrap torify torsocks proxychains proxychains4 chrt numactl sshpass dbus-run-session fakeroot fakechroot linux32 linux64
  setpriv cgexec logsave xvfb-run ssh-agent gpg-agent faketime eatmydata softlimit setlock choom uclampset coproc`.split(
    /\s+/,
  ),
);

/** Words that are code or name a program: letters of short options, beginnings of long ones, or any text. */
interface Carrier {
  readonly short?: string;
  readonly long?: string;
  readonly text?: RegExp;
  /** Whether words after the first operand are for what runs. */
  readonly stops?: boolean;
}

const AWK: Carrier = {
  short: 'fEile',
  long: 'file exec include load source',
  // What is printed may go to a file; elsewhere `>` compares.
  text: /system|getline|ARGV|(?<!\|)\|(?!\|)|^(?:(?!print)[\s\S])*print[\s\S]*>(?!=)|@\w/,
};
const CONTAINERS: Carrier = { text: /^(?:run|exec|create|debug|eval)$/ };
const SSH: Carrier = { short: 'SFbD', text: /(?:Proxy|Local|KnownHosts)Command|Provider/i };
const CC: Carrier = {
  short: 'B',
  text: /^(?:@|-(?:wrapper|f(?:pass-)?plugin|fuse-ld=.*\/|-ld-path|specs|-config|Xclang))/,
};
/** A program's own input, as a file. */
const INPUT = /^(?:-|\/dev\/(?:stdin|fd\/\d+)|\/proc\/self\/fd\/\d+)$/;
const NETCAT: Carrier = { short: 'ec', long: 'exec sh-exec lua-exec' };
const VIM: Carrier = { short: 'cSsue', long: 'cmd', text: /^\+/ };
const NODE: Carrier = { short: 'ep', long: 'eval print inspect', stops: true };
const NPM: Carrier = { short: 'c', long: 'call', text: /^(?:config|set)$/ };
const FD: Carrier = { short: 'xX', long: 'exec' };

/** By https://gtfobins.github.io and their manuals: GNU tar 1.35 and sed 4.9, git 2.43, bash 5.2, GCC 14, Clang 18, Python 3.12, Node 22, Perl 5.38. */
const CARRIERS: Readonly<Record<string, Carrier>> = {
  ...{ awk: AWK, gawk: AWK, mawk: AWK, nawk: AWK, vi: VIM, vim: VIM, nvim: VIM, view: VIM, ex: VIM },
  ...{ scp: SSH, sftp: SSH, nc: NETCAT, ncat: NETCAT, npm: NPM, npx: NPM },
  ...{ node: NODE, bun: NODE, ruby: NODE, lua: NODE, julia: NODE, Rscript: NODE, elixir: NODE },
  ...{ fd: FD, fdfind: FD, rake: { ...NODE, stops: false }, 'ssh-keygen': { short: 'D' } },
  ...{ docker: CONTAINERS, podman: CONTAINERS, kubectl: CONTAINERS, deno: CONTAINERS },
  ...{ gcc: CC, 'g++': CC, cc: CC, 'c++': CC, clang: CC, 'clang++': CC, ld: { text: /^(?:@|--?plugin)/ } },
  ...{
    alias: { text: /=/ },
    jobs: { short: 'x' },
    compgen: { short: 'CFW' },
    mapfile: { short: 'C' },
    readarray: { short: 'C' },
  },
  cargo: { long: 'config' },
  git: {
    long: 'config-env exec-path upload-pack receive-pack open-files-in-pager exec extcmd ext-diff',
    text: /^(?:ext::|-O|!)|^(?:foreach|run|filter-branch|maintenance|credential.*|daemon|instaweb|shell|svn|p4|cvs\w+|send-email|imap-send|apply|am)$/,
  },
  jq: { text: /\b(?:import|include)\s*"/ },
  less: { long: 'lesskey-content', text: /^\+/ },
  mysql: { text: /\\!|\bsystem\b|\b(?:out|dump|in)file\b|load_file/i },
  make: { short: 'E', long: 'eval', text: /=(?![\d.]*$)|^(?:-|-f-|.*\/dev\/(?:stdin|fd\/\d+))$/ },
  man: { short: 'PH', long: 'pager html' },
  perl: { short: 'eEMm', stops: true },
  php: { short: 'rRBES', long: 'run process-', stops: true },
  psql: { text: /\\|`|\bprogram\b/i },
  python: { short: 'c', stops: true },
  rsync: { short: 'e', long: 'rsh rsync-path' },
  sed: { short: 'f', long: 'file expression' },
  sort: { long: 'compress-program' },
  split: { long: 'filter' },
  sqlite3: {
    text: /^\s*\.|\||\b(?:read|write)file\b|\b(?:edit|load_extension)\s*\(|\battach\b|\bvacuum\b.*\binto\b/i,
  },
  tar: {
    short: 'IF',
    long: 'checkpoint-action to-command use-compress-program info-script',
    text: /^\w*[IF]/,
  },
  wget: { short: 'e', long: 'execute use-askpass' },
  yq: { text: /\bload\w*\s*\(/ },
  zip: { text: /^-TT|^--unzip-command/ },
};

/** Words with which programs print the values of variables; of `ps` letters without a dash, as in BSD. */
const VARIABLES: Readonly<Record<string, RegExp>> = {
  ...{ awk: /ENVIRON/, gawk: /ENVIRON|PROCINFO/, mawk: /ENVIRON/, nawk: /ENVIRON/ },
  ...{ jq: /\$ENV|(?<![\w.$])env\b/, gojq: /\$ENV|(?<![\w.$])env\b/, yq: /env/ },
  ...{ ps: /^(?=[a-z]*e)[acefhjklmnoprstuvwx]+$/i, git: /^var$/, systemctl: /^show-env/ },
};

/** Whether a program may print variables by its words. */
export function tellsVariables(program: string, words: readonly CommandWord[]): boolean {
  const known = Object.hasOwn(VARIABLES, program) ? VARIABLES[program] : undefined;
  return known !== undefined && words.some(({ value, text }) => known.test(value ?? text));
}

/** Whether words of a program may be code that is not read here. Options may be joined, and long ones cut short. */
export function carriesCode(program: string, words: readonly CommandWord[]): boolean {
  if (OPAQUE.has(program)) return true;
  const name = Object.hasOwn(CARRIERS, program) ? program : program.replace(/(?:-|(?<![\d.]))[\d.]+$/, '');
  const carrier = Object.hasOwn(CARRIERS, name) ? CARRIERS[name] : undefined;
  const texts = words.map(({ value, text }) => value ?? text);
  const isRead = Object.hasOwn(RUNNERS, program) || SHELLS.includes(program);
  if (!isRead && looksLikeCode(name, texts)) return true;
  if (carrier === undefined) return false;
  if (name === 'git' && configuresGit(texts)) return true;
  if (name === 'sed' && !isPlainSed(texts)) return true;
  const { short = '', long, text, stops } = carrier;
  // An interpreter without a file runs what it is fed, but for Node's own tests.
  const isFed = (word: string): boolean =>
    (/^-(?!-?(?:v|V|h|version|help)$)/.test(word) && !(name === 'node' && word === '--test')) ||
    INPUT.test(word);
  const end = texts.findIndex(
    (word, at) => word === '-' || (!word.startsWith('-') && texts[at - 1]?.startsWith('-') !== true),
  );
  if (stops === true && (texts.every(isFed) || INPUT.test(texts[end] ?? ''))) return true;
  return texts.slice(0, stops === true && end >= 0 ? end : undefined).some((word) => {
    const [, begun, letters = ''] = /^-(?:-([a-z-]+)|([A-Za-z\d]+))/.exec(word) ?? [];
    const isLong = (option: string) => option.startsWith(begun ?? ' ') || begun?.startsWith(option) === true;
    const isShort = [...letters].some((letter) => short.includes(letter));
    return isShort || text?.test(word) === true || long?.split(' ').some(isLong) === true;
  });
}

/** Settings before the subcommand, or those of `config`, but for the name of the user; and what `rebase -x` runs. */
function configuresGit(texts: readonly string[]): boolean {
  let at = 0;
  while (/^-(?:[CP]|-no-pager)$/.test(texts[at] ?? '')) at += texts[at] === '-C' ? 2 : 1;
  const [verb = '', ...rest] = texts.slice(at);
  if (verb.startsWith('-')) return !/^--(?:version|help)$/.test(verb);
  const operands = rest.filter((word) => !word.startsWith('-'));
  if (verb === 'config') return operands.length > 1 && operands[0]?.startsWith('user.') !== true;
  return /^(?:rebase|difftool)$/.test(verb) && rest.some((word) => word.startsWith('-x'));
}

/** Whether the script of `sed` only prints, deletes and substitutes. */
function isPlainSed(texts: readonly string[]): boolean {
  const first = texts.find((text) => !text.startsWith('-'));
  const scripts = texts.filter((text, at) => text === first || /^-[A-Za-z]*e$/.test(texts[at - 1] ?? ''));
  return !texts.some((text) => /^-[A-Za-z]*e./.test(text)) && scripts.every(isPlainScript);
}

const PLAIN_SED =
  /^(?:(?:\d+|\$|\/[^/]*\/)?(?:,(?:\d+|\$|\/[^/]*\/))?!?[pdqQ=]?|s(?:\/[^/]*\/[^/]*\/|\|[^|]*\|[^|]*\||#[^#]*#[^#]*#)[gpiI\d]*)$/;

function isPlainScript(script: string): boolean {
  if (script === '' || /\[(?![\w\s.^*+-]*\])/.test(script)) return false;
  const pieces = script.replaceAll(/\\[^\n]/g, 'x').split(/[;\n]/);
  return pieces.every((piece) => PLAIN_SED.test(piece.trim()));
}
