/** The files that common programs open by their words, as redirections would. */
import { type CommandAction, type CommandWord, unreadableAction } from './actions.ts';
import { isSaid } from './any-program.ts';
import { FILES, type FileWords } from './file-words.ts';

type OpenedAs = 'read_file' | 'write_file';

interface OpenedWord {
  readonly word: CommandWord;
  readonly kind: OpenedAs;
  /** Whether it may be a place on another machine. */
  readonly isRemote?: boolean;
}

/** The files a program opens by its words. @param adds whether words come to these that the text does not say. */
export function fileActions(
  program: string,
  words: readonly CommandWord[],
  adds: boolean,
): readonly CommandAction[] {
  if (program === 'dd') return words.flatMap(ofDd);
  const table = Object.hasOwn(FILES, program) ? FILES[program] : undefined;
  const known =
    table !== undefined && isInPlace(program, words) ? { ...table, operands: 'write' as const } : table;
  if (known === undefined) {
    if (NO_FILES.has(program)) return [];
    return [...namedFiles(program, words), ...(adds ? [toUnnamed(program)] : [])];
  }
  const kinds = listOptions(known);
  const opened: OpenedWord[] = [];
  const operands: CommandWord[] = [];
  const addresses: CommandWord[] = [];
  const told: CommandAction[] = [];
  /** Of which the table says nothing. */
  const unknown: CommandWord[] = [];
  let skips = known.skips ?? 0;
  let isOver = false;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as CommandWord;
    const text = word.value ?? word.text;
    if (isOver || !/^-./.test(text)) {
      // It may be the value of what stands before it.
      if (at > 0 && operands.length < skips && unknown.at(-1) === words[at - 1]) unknown.push(word);
      operands.push(word);
      continue;
    }
    isOver = text === '--';
    const found = findOption(text, kinds, known.attached);
    if (found === undefined) {
      if (/^-.*[/~.]|^--./.test(text)) unknown.push(word);
      continue;
    }
    if (known.instead?.split(' ').includes(found.option) === true) skips = 0;
    const isNext = found.value === undefined;
    const next = words[at + 1];
    // One cut short may be another, and the letters of several have values: what follows may be an option or an operand.
    if (isNext && !found.isCut && !/^-[^-]|^--./.test(next?.value ?? next?.text ?? '')) at += 1;
    const value = isNext ? next : { text, value: word.value && found.value };
    if (value === undefined) continue;
    if (known.tells?.split(' ').includes(found.option) === true)
      told.push(unreadableAction(`what '${program}' fetches is in a file`));
    if (found.kind === 'addresses') addresses.push(value);
    else if (found.kind === 'data') opened.push(...ofData(found.option, value));
    else if (found.kind !== 'valued')
      opened.push({ word: value, kind: found.kind === 'writes' ? 'write_file' : 'read_file' });
  }
  const fetches = known.operands === 'fetch';
  if (known.operands !== undefined && !fetches) {
    const files = operands.slice(skips);
    const { isRemote = false } = known;
    // `cp -t folder` names where it writes; what copies to other machines has no such option.
    const isCopied =
      known.operands === 'copy' && (isRemote || !opened.some(({ kind }) => kind === 'write_file'));
    for (const [at, word] of files.entries()) {
      const isWritten = known.operands === 'write' || (isCopied && at === files.length - 1);
      opened.push({ word, kind: isWritten ? 'write_file' : 'read_file', isRemote });
    }
  }
  if (program === 'curl') opened.push(...words.flatMap(ofCurl));
  const writesElse = known.otherwise !== undefined && !opened.some(({ kind }) => kind === 'write_file');
  const actions = [...told, ...opened.flatMap(({ word, kind, isRemote }) => toAction(word, kind, isRemote))];
  actions.push(...[...(fetches ? operands : []), ...addresses].flatMap(ofAddress));
  if (writesElse) actions.push({ kind: 'write_file', path: known.otherwise ?? '.' });
  const written = actions.find(({ kind }) => kind === 'write_file');
  if (fetches && written !== undefined)
    actions.push(...operands.flatMap(({ value, text }) => ofFetchedName(value ?? text)));
  if ((known.operands === undefined && !NO_FILES.has(program)) || program === 'wget')
    actions.push(...namedFiles(program, words));
  else actions.push(...unknown.flatMap((word) => namedFiles(program, [word])));
  const texts = words.map(({ value, text }) => withoutValue(value ?? text, kinds, known.attached));
  if (adds || texts.some((text) => known.opens?.test(text))) actions.push(toUnnamed(program));
  if (texts.some((text) => known.follows?.test(text)) && !texts.some((text) => known.stays?.test(text)))
    actions.push({ kind: 'name_url', url: ANYWHERE });
  const isTree = words.some(({ value, text }) => known.trees?.test(value ?? text));
  const copiedTo =
    known.operands === 'copy' && written !== undefined && 'path' in written ? written.path : undefined;
  return actions.map((action) =>
    action.kind === 'write_file' || !('path' in action)
      ? action
      : { ...action, ...(isTree ? { isTree } : {}), ...(copiedTo === undefined ? {} : { copiedTo }) },
  );
}

/** An address that a server may name: only a rule that is about all hosts allows it. */
const ANYWHERE = 'http://redirected.invalid/';

function toUnnamed(program: string): CommandAction {
  return unreadableAction(`'${program}' opens files that are not in the command`);
}

/** What is fetched may be written by the name in its address, also where that is one of the hidden ones. */
function ofFetchedName(url: string): readonly CommandAction[] {
  const [, name] = /(?:^|\/)((?:\.|%2e)[^/?#]+)(?:[?#].*)?$/i.exec(url) ?? [];
  return name === undefined ? [] : [{ kind: 'write_file', path: name.replaceAll(/%2e/gi, '.') }];
}

const KINDS = ['reads', 'writes', 'addresses', 'data', 'valued'] as const;
type OptionKind = (typeof KINDS)[number];

const listOptions = (known: FileWords): ReadonlyMap<string, OptionKind> =>
  new Map(KINDS.flatMap((kind) => (known[kind]?.split(' ') ?? []).map((option) => [option, kind] as const)));

interface FoundOption {
  readonly option: string;
  readonly kind: OptionKind;
  /** Undefined: it is the next word. */
  readonly value: string | undefined;
  /** Whether it is not written out. */
  readonly isCut: boolean;
}

/** `-o out`, `-oout`, `-sSo out`, `-sSoout`, `--output out`, `--output=out`, `--outp out`. */
function findOption(
  text: string,
  kinds: ReadonlyMap<string, OptionKind>,
  attached = '',
): FoundOption | undefined {
  const [name = '', ...rest] = text.split('=');
  const given = rest.length === 0 ? undefined : rest.join('=');
  const exact = kinds.get(text) ?? kinds.get(name);
  if (exact !== undefined && (name.length > 2 || given === undefined))
    return { option: kinds.has(text) ? text : name, kind: exact, value: given, isCut: false };
  if (text.startsWith('--')) {
    for (const [option, kind] of kinds)
      if (name.length > 2 && option.startsWith(name)) return { option, kind, value: given, isCut: true };
    return undefined;
  }
  for (let at = 1; at < text.length; at += 1) {
    const option = `-${text[at]}`;
    const kind = kinds.get(option);
    if (kind !== undefined) return { option, kind, value: text.slice(at + 1) || undefined, isCut: false };
    if (attached.includes(option.slice(1))) return undefined;
  }
  return undefined;
}

/** `-sSoname` is `-sSo`: letters up to the one that takes the rest. */
function withoutValue(text: string, kinds: ReadonlyMap<string, OptionKind>, attached = ''): string {
  if (!/^-[A-Za-z]/.test(text)) return text;
  const end = [...text].findIndex((letter) => attached.includes(letter) || kinds.has(`-${letter}`));
  return end < 0 || attached.includes(text[end] ?? '') ? text : text.slice(0, end + 1);
}

/** Whether the files are written that are read elsewise. */
const isInPlace = (program: string, words: readonly CommandWord[]): boolean =>
  /^(?:sed|yq)$/.test(program) && words.some(({ value = '' }) => /^-(?:[nErsuz]*i|-i)/.test(value));

function ofDd({ value, text }: CommandWord): readonly CommandAction[] {
  const [, name, path] = /^(if|of)=(.*)$/s.exec(value ?? text) ?? [];
  if (name === undefined) return [];
  return toAction(
    { text, value: value === undefined ? undefined : path },
    name === 'if' ? 'read_file' : 'write_file',
  );
}

/** `-d @file`, `-F name=@file`, `--data-urlencode name@file`. */
function ofData(option: string, { value, text }: CommandWord): { word: CommandWord; kind: 'read_file' }[] {
  const isBare = /^--(?:data-u|url-q)/.test(option);
  // A cookie without a name is a file.
  const form =
    option === '-b' || option === '--cookie'
      ? /^(?!.*=)()(.+)/s
      : isBare
        ? /^[^=]*?@()([^;]+)/
        : /(?:^|=)([@<])([^;]+)/;
  const [, , path] = form.exec(value ?? text) ?? [];
  return path === undefined ? [] : [{ word: { text, value: value && path }, kind: 'read_file' }];
}

/** `-O`, which names a file after the address; an address that is a file. */
function ofCurl(word: CommandWord): { word: CommandWord; kind: OpenedAs }[] {
  const text = word.value ?? word.text;
  if (/^-(?:[A-Za-z]*[OJ]|-remote-name(?:-all)?)/.test(text))
    return [{ word: { text, value: '.' }, kind: 'write_file' }];
  const [, output] = /%output\{(?:>>)?([^}]*)/.exec(text) ?? [];
  if (output !== undefined) return [{ word: { text, value: output }, kind: 'write_file' }];
  const [, local] = /^file:\/*(\/.*)$/is.exec(text) ?? [];
  return local === undefined ? [] : [{ word: { text, value: word.value && local }, kind: 'read_file' }];
}

/** Where there is no scheme, it is that of curl and wget. */
function ofAddress({ value, text }: CommandWord): CommandAction[] {
  const url = value ?? text;
  if (/^file:/i.test(url)) return [];
  return [{ kind: 'name_url', url: URLS.test(url) ? url : `http://${url}` }];
}

const URLS = /(?<![a-z\d+.-])(?!file:)[a-z][a-z\d+.-]*:\/\/.*$/i;
/** `host:path`, `host::module`, of what copies to other machines. */
const HOSTED = /^(?:[\w.-]+@)?[\w.-]+:/;
/** `git@host:path`. */
const REMOTE = /^[\w.-]+@[\w.-]+:(?!\/\/)/;

/** Programs whose words are text or variables, that tell of a file no more than that it is there, or run what follows. */
const NO_FILES = new Set(
  `echo printf printenv true false test [ basename dirname expr seq sleep kill type which whatis apropos tr cd pushd popd
  export declare typeset local readonly read unset getopts set shift alias unalias umask ulimit ls du df tree stat realpath
  readlink pwd sh bash dash eval trap find xargs curl env sudo doas
  builtin command exec nice nohup setsid stdbuf time timeout unbuffer ionice`.split(/\s+/),
);
const MAX_WORD = 4_096;
/** Which the shell computes. */
const UNKNOWN = '\0';

/** Words, and parts of words after an option's letter or a separator, of which the program may make a file. */
function namedFiles(program: string, words: readonly CommandWord[]): readonly CommandAction[] {
  const places = program === 'git' ? gitPlaces(words.map(({ value, text }) => value ?? text)) : [];
  const isRead = program === 'git' && GIT_READS.test(words[0]?.value ?? '');
  const others: CommandAction[] = places.map((url) => ({ kind: 'name_url', url }));
  const paths = words.flatMap(({ value, text }, at) => {
    const before = words[at - 1]?.value ?? '';
    if (text.length > MAX_WORD || isSaid(text, before)) return [];
    const [url = REMOTE.exec(text)?.[0]] = URLS.exec(value ?? text) ?? [];
    if (url !== undefined && program !== 'wget') others.push({ kind: 'name_url', url });
    if (value === undefined) {
      const pattern = readPattern(text);
      if (pattern !== undefined) others.push({ kind: 'name_file', ...pattern });
      return pattern === undefined && /^~|\//.test(text) ? [UNKNOWN] : [];
    }
    const isJson = /^[\w-]*=?[{[]/.test(value);
    if (PATTERNS.test(value)) return [];
    if (/\s/.test(value) && !isJson && !value.startsWith('-')) return [value];
    const local = value.replace(URLS, '').replaceAll(/file:\/*(?=\/)/gi, '');
    const [, joined = local] = /^-[A-Za-z]((?:[~.]|[\w.-]*\/).*)$/.exec(local) ?? [];
    const isQuery = program === 'gh' && before === '-q';
    const isDotted = isQuery || DOTTED.test(value) || (before.startsWith('-') && DOTTED.test(before));
    // A hidden file that is not there yet.
    return [joined, ...joined.split(isJson ? /[\s=,:;@"'{}[\]]+/ : /[\s=,:;@"']/)].map((part) =>
      !isDotted && HIDDEN.test(part) ? `./${part}` : part,
    );
  });
  const named = [...new Set(paths)].filter((path) => path !== '' && !/^-./.test(path) && !STREAMS.test(path));
  const files = named.map((path): CommandAction => {
    const action = { kind: 'name_file', path: path === UNKNOWN ? '' : path } as const;
    return isRead ? { ...action, isRead } : action;
  });
  return [...files, ...others];
}

/** What is left out, by its name. */
const PATTERNS = /^--(?:exclude|ignore)(?:-(?:dir|pattern|glob))?=(?!.*\/)/;
const HIDDEN = /^\.(?!\d+$)\w[\w.-]*$/;
/** Options whose values have dots and are no files: queries, endings of names, what is left out. */
const DOTTED =
  /^(?:-{0,2}[\w-]*(?:jq|jsonpath|query|filter|select|field|format|template|pattern|loader|\bexts?|extension|suffix|ignore|exclude)(?:e?s)?(?:-(?:path|dir|file|glob|pattern)s?)?)(?=$|[=:])/i;
/** Verbs of git that write none of the files they name. */
const GIT_READS = /^(?:add|blame|check-ignore|commit|diff|grep|log|ls-files|rev-parse|show|status)$/;
/** `host:path` after these verbs of git; after the first ones refspecs follow. */
const GIT_REACHES = /^(?:(push|fetch|pull)|clone|ls-remote|remote|submodule|[fs]e\w+-pack)$/;

function gitPlaces(texts: readonly string[]): readonly string[] {
  const verb = texts.findIndex((text, at) => !/^-/.test(text) && !/^-[Cc]$/.test(texts[at - 1] ?? ''));
  const [reaches, first] = GIT_REACHES.exec(texts[verb] ?? '') ?? [];
  const places = reaches === undefined ? [] : texts.slice(verb + 1).filter((text) => !/^(?:-|\d)/.test(text));
  const given = texts.flatMap((text) => /^--re(?:mote|po)=(.*)/.exec(text)?.[1] ?? []);
  return [...given, ...places.slice(0, first === undefined ? undefined : 1)].filter((place) =>
    /^[\w.-]+:(?!\/\/)/.test(place),
  );
}

const STREAMS = /^(?:-|\/dev\/(?:null|stdin|stdout|stderr|tty))$/;

/** A pattern of files is the folder they are in, and those of its names that match. */
function readPattern(text: string): { path: string; names: string } | undefined {
  const [, folder, names] = /^((?:[\w.-]*\/)*)([\w.*?-]*[*?][\w.*?-]*)$/.exec(text) ?? [];
  return names === undefined ? undefined : { path: folder || '.', names };
}

function toAction({ value: path, text }: CommandWord, kind: OpenedAs, isRemote = false): CommandAction[] {
  const pattern = path === undefined ? readPattern(text) : undefined;
  if (pattern !== undefined) return [{ kind, ...pattern }];
  if (path === undefined || path === '')
    return [unreadableAction(`it opens '${text.slice(0, 64)}', which the shell computes`)];
  if (STREAMS.test(path)) return [];
  if (!isRemote || !HOSTED.test(path)) return [{ kind, path }];
  // What is written elsewhere is not in the project either.
  return [{ kind: 'name_url', url: path }, ...(kind === 'write_file' ? [{ kind, path }] : [])];
}
