/** The files that common programs open by their words, as redirections would. */
import { type CommandAction, type CommandWord, unreadableAction } from './actions.ts';
import { isSaid } from './any-program.ts';

interface FileWords {
  /** Options whose value is a file that is read, or written; of short ones the value may be joined. */
  readonly reads?: string;
  readonly writes?: string;
  /** Other options with a value in the next word. */
  readonly valued?: string;
  /** Operands: all read, all written, or the last written and the others read; or addresses. */
  readonly operands?: 'read' | 'write' | 'copy' | 'fetch';
  /** Leading operands that are no files. */
  readonly skips?: number;
  /** What it writes to where no option says so. */
  readonly otherwise?: string;
}

const READ: FileWords = { operands: 'read' };
const COPY: FileWords = { operands: 'copy', writes: '-t --target-directory', valued: '-S -m -o -g' };
const SUMS: FileWords = { operands: 'read', valued: '-b -w' };
const LINES: FileWords = { operands: 'read', valued: '-n -c -s' };
const GREP: FileWords = { operands: 'read', skips: 1, valued: '-m -A -B -C', reads: '-f --file' };
const RG: FileWords = { ...GREP, valued: '-m -A -B -C -g -t -T -M -j --glob --type --max-count' };
const AWK: FileWords = { operands: 'read', skips: 1, valued: '-F -v' };
const PARTS: FileWords = { operands: 'read', valued: '-d -f -c -b -w -s -n' };
const MAKES: FileWords = { operands: 'write', valued: '-m --mode' };

/**
 * By the manuals of GNU coreutils 9, diffutils 3.10, findutils 4.9, grep 3.11, gawk 5.2, jq 1.7, curl 8, wget 1.21 and
 * OpenSSL 3. Words that no row is about are files if they look like it.
 */
const FILES: Readonly<Record<string, FileWords>> = {
  ...{ cat: READ, tac: READ, nl: READ, less: READ, more: READ, xxd: READ, strings: READ },
  wc: { operands: 'read', reads: '--files0-from' },
  ...{ zcat: READ, comm: READ, tsort: READ, rev: READ, cmp: READ, pr: READ, zless: READ, zmore: READ },
  ...{ rg: RG, ag: RG, zgrep: GREP, awk: AWK, gawk: AWK, mawk: AWK, nawk: AWK, mkdir: MAKES, rmdir: MAKES },
  ...{ cut: PARTS, paste: PARTS, fold: PARTS, fmt: PARTS, column: PARTS },
  od: { operands: 'read', valued: '-A -j -N -t -w -S' },
  diff: { operands: 'read', valued: '-x -I -U -C', reads: '--from-file --to-file' },
  ...{ jq: { operands: 'read', skips: 1, reads: '-f --from-file -L' }, xargs: { reads: '-a --arg-file' } },
  ...{ base64: SUMS, base32: SUMS, sha256sum: SUMS, md5sum: SUMS, head: LINES, tail: LINES },
  ...{ cp: COPY, mv: COPY, ln: COPY, install: COPY, grep: GREP, egrep: GREP, fgrep: GREP },
  curl: {
    operands: 'fetch',
    valued:
      '-A -F -H -X -b -d -e -m -r -u -w -y -Y -C --data --data-ascii --data-binary --data-raw --data-urlencode --form --header --json --max-time --request --retry --user --user-agent --write-out',
    reads: '-T --upload-file -K --config --cacert --cert -E --key --netrc-file --unix-socket',
    writes:
      '-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --output-dir',
  },
  openssl: {
    reads: '-in -key -inkey -cert -CA -CAkey -config -file -passin',
    writes: '-out -keyout -CAserial -writerand',
  },
  find: { reads: '-files0-from', writes: '-fprint -fprint0 -fprintf -fls' },
  git: { writes: '--output --output-directory' },
  rsync: {
    operands: 'copy',
    writes: '--log-file --backup-dir --partial-dir',
    reads: '--files-from --exclude-from',
  },
  sort: { operands: 'read', writes: '-o --output', valued: '-k -t -S', reads: '--files0-from' },
  tee: { operands: 'write' },
  touch: { operands: 'write', valued: '-d -t', reads: '-r --reference' },
  truncate: { operands: 'write', valued: '-s', reads: '-r --reference' },
  wget: {
    operands: 'fetch',
    valued:
      '-t -T -w -U -Q -l -A -R -I -X -D --header --method --post-data --body-data --user --password --tries --timeout',
    reads: '-i --input-file --post-file --body-file --config',
    writes: '-O --output-document -P --directory-prefix -o --output-file -a --append-output --save-cookies',
    otherwise: '.',
  },
};

/** The files a program opens by its words. @param adds whether words come to these that the text does not say. */
export function fileActions(
  program: string,
  words: readonly CommandWord[],
  adds: boolean,
): readonly CommandAction[] {
  if (program === 'dd') return words.flatMap(ofDd);
  const table = Object.hasOwn(FILES, program) ? FILES[program] : undefined;
  const known = program === 'sed' ? ofSed(words) : table;
  if (known === undefined) return namedFiles(program, words);
  const [reads, writes, valued] = [known.reads, known.writes, known.valued].map((names = '') =>
    names.split(' '),
  );
  const opened: { word: CommandWord; kind: 'read_file' | 'write_file' }[] = [];
  const operands: CommandWord[] = [];
  let isOver = false;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as CommandWord;
    const text = word.value ?? word.text;
    if (isOver || !/^-./.test(text)) {
      operands.push(word);
      continue;
    }
    isOver = text === '--';
    const found = findOption(text, [...(reads ?? []), ...(writes ?? []), ...(valued ?? [])]);
    if (found === undefined) continue;
    const isNext = found.value === undefined;
    const next = words[at + 1];
    // The last of several letters may be the value of one before: what follows may be an option.
    if (isNext && !/^-[^-]|^--./.test(next?.value ?? next?.text ?? '')) at += 1;
    const value = isNext ? next : { text, value: word.value && found.value };
    if (value === undefined || valued?.includes(found.option) === true) continue;
    opened.push({ word: value, kind: writes?.includes(found.option) === true ? 'write_file' : 'read_file' });
  }
  const fetches = known.operands === 'fetch';
  if (known.operands !== undefined && !fetches) {
    const files = operands.slice(known.skips ?? 0);
    const isCopied = known.operands === 'copy' && !opened.some(({ kind }) => kind === 'write_file');
    for (const [at, word] of files.entries()) {
      const isWritten = known.operands === 'write' || (isCopied && at === files.length - 1);
      opened.push({ word, kind: isWritten ? 'write_file' : 'read_file' });
    }
  }
  if (program === 'curl') opened.push(...words.flatMap(ofCurl));
  const writesElse = known.otherwise !== undefined && !opened.some(({ kind }) => kind === 'write_file');
  const actions = opened.flatMap(({ word, kind }) => toAction(word, kind));
  if (fetches) actions.push(...operands.flatMap(ofAddress));
  if (writesElse) actions.push({ kind: 'write_file', path: known.otherwise ?? '.' });
  if (known.operands === undefined || program === 'wget') actions.push(...namedFiles(program, words));
  if (adds && known.operands !== undefined)
    actions.push(unreadableAction(`'${program}' opens files that are not in the command`));
  return actions;
}

/** `-o out`, `-oout`, `--output out`, `--output=out`, `--outp out`. */
function findOption(
  text: string,
  names: readonly string[],
): { option: string; value: string | undefined } | undefined {
  const [name = '', ...rest] = text.split('=');
  for (const option of names) {
    if (option === '') continue;
    if (text === option || (option.startsWith('--') && name.length > 4 && option.startsWith(name)))
      return { option, value: rest.length === 0 ? undefined : rest.join('=') };
    const isShort = /^-\w$/.test(option);
    if (isShort && text.startsWith(option)) return { option, value: text.slice(2) };
    // `-sSo out`: the last letter of several.
    if (isShort && /^-[A-Za-z]+$/.test(text) && text.endsWith(option.slice(1)))
      return { option, value: undefined };
  }
  return undefined;
}

/** Its script is no file, and with `-i` the files are written. */
function ofSed(words: readonly CommandWord[]): FileWords {
  const has = (option: RegExp): boolean => words.some(({ value = '' }) => option.test(value));
  const skips = has(/^-(?:[nErsz]*[ef]|-expression|-file)/) ? 0 : 1;
  return {
    operands: has(/^-(?:[nErsz]*i|-in-place)/) ? 'write' : 'read',
    skips,
    valued: '-e -f -l',
    reads: '--file',
  };
}

function ofDd({ value, text }: CommandWord): readonly CommandAction[] {
  const [, name, path] = /^(if|of)=(.*)$/s.exec(value ?? text) ?? [];
  if (name === undefined) return [];
  return toAction(
    { text, value: value === undefined ? undefined : path },
    name === 'if' ? 'read_file' : 'write_file',
  );
}

/** `-O`, which names a file after the address; `-d @file`, `-F name=@file`. */
function ofCurl(
  word: CommandWord,
  at: number,
  words: readonly CommandWord[],
): { word: CommandWord; kind: 'read_file' | 'write_file' }[] {
  const text = word.value ?? word.text;
  if (/^-(?:[A-Za-z]*[OJ]|-remote-name(?:-all)?)/.test(text))
    return [{ word: { text, value: '.' }, kind: 'write_file' }];
  const before = words[at - 1]?.value ?? '';
  const [, given = text] = /^(?:-[dFH]|--[a-z-]+=)(.*)$/s.exec(text) ?? [];
  const [, local] = /^file:\/*(\/.*)$/is.exec(text) ?? [];
  if (local !== undefined) return [{ word: { text, value: word.value && local }, kind: 'read_file' }];
  const isData =
    given !== text || /^-(?:[A-Za-z]*[dFH]|-(?:data[a-z-]*|form|header|json|url-query))$/.test(before);
  // `--data-urlencode name@file`
  const form = /urlencode|url-query/.test(`${before} ${text}`) ? /^[^=]*?@()([^;]+)/ : /(?:^|=)([@<])([^;]+)/;
  const [, , path] = (isData && form.exec(given)) || [];
  return path === undefined ? [] : [{ word: { text, value: word.value && path }, kind: 'read_file' }];
}

/** Where there is no scheme, it is that of curl and wget. */
function ofAddress({ value, text }: CommandWord): CommandAction[] {
  const url = value ?? text;
  if (/^file:/i.test(url)) return [];
  return [{ kind: 'name_url', url: URLS.test(url) ? url : `http://${url}` }];
}

const URLS = /(?<![a-z\d+.-])(?!file:)[a-z][a-z\d+.-]*:\/\/.*$/i;
/** `git@host:path`. */
const REMOTE = /^[\w.-]+@[\w.-]+:(?!\/\/)/;

/** Programs whose words are text or variables, that tell of a file no more than that it is there, or run what follows. */
const NO_FILES = new Set(
  `echo printf true false test [ basename dirname expr seq sleep kill type which whatis apropos tr cd pushd popd
  export declare typeset local readonly read unset getopts set shift alias unalias umask ulimit ls du df tree stat realpath
  readlink pwd sh bash dash eval trap find xargs curl env sudo doas
  builtin command exec nice nohup setsid stdbuf time timeout unbuffer ionice`.split(/\s+/),
);
const MAX_WORD = 4_096;
/** Which the shell computes. */
const UNKNOWN = '\0';

/** Words, and parts of words after an option's letter or a separator, of which the program may make a file. */
function namedFiles(program: string, words: readonly CommandWord[]): readonly CommandAction[] {
  if (NO_FILES.has(program)) return [];
  const others: CommandAction[] = [];
  const paths = words.flatMap(({ value, text }, at) => {
    if (text.length > MAX_WORD || isSaid(text, words[at - 1]?.value)) return [];
    const [url = REMOTE.exec(text)?.[0]] = URLS.exec(value ?? text) ?? [];
    if (url !== undefined && program !== 'wget') others.push({ kind: 'name_url', url });
    if (value === undefined) {
      const pattern = readPattern(text);
      if (pattern !== undefined) others.push({ kind: 'name_file', ...pattern });
      return pattern === undefined && /^~|\//.test(text) ? [UNKNOWN] : [];
    }
    if (/\s/.test(value)) return [value];
    const local = value.replace(URLS, '').replaceAll(/file:\/*(?=\/)/gi, '');
    const [, joined = local] = /^-[A-Za-z]([/~.].*)$/.exec(local) ?? [];
    return [joined, ...joined.split(/[=,:;@]/)];
  });
  const named = [...new Set(paths)].filter((path) => path !== '' && !/^-./.test(path) && !STREAMS.test(path));
  const files = named.map(
    (path): CommandAction => ({ kind: 'name_file', path: path === UNKNOWN ? '' : path }),
  );
  return [...files, ...others];
}

const STREAMS = /^(?:-|\/dev\/(?:null|stdin|stdout|stderr|tty))$/;

/** A pattern of files is the folder they are in, and those of its names that match. */
function readPattern(text: string): { path: string; names: string } | undefined {
  const [, folder, names] = /^((?:[\w.-]*\/)*)([\w.*?-]*[*?][\w.*?-]*)$/.exec(text) ?? [];
  return names === undefined ? undefined : { path: folder || '.', names };
}

function toAction({ value: path, text }: CommandWord, kind: 'read_file' | 'write_file'): CommandAction[] {
  const pattern = path === undefined ? readPattern(text) : undefined;
  if (pattern !== undefined) return [{ kind, ...pattern }];
  if (path === undefined || path === '')
    return [unreadableAction(`it opens '${text.slice(0, 64)}', which the shell computes`)];
  // Of another machine.
  if (STREAMS.test(path) || /^[\w.@-]+:(?!\/\/)/.test(path)) return [];
  return [{ kind, path }];
}
