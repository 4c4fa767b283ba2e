/**
 * Reads a shell command as the things it does: each program that may run, each file that a redirection opens, each
 * variable that is set, through sequences, pipes, subshells, substitutions, functions and here-documents. Whatever is
 * in a command counts, whether or not the shell would come to it. What cannot be read is an action of its own.
 */
import { posix } from 'node:path';
import { parse } from 'unbash';
import { isObject, type JsonObject, nameKind, readList, readObject } from '../../json/index.ts';
import { type CommandAction, type CommandWord, unreadableAction } from './actions.ts';
import { fileActions } from './files.ts';
import { fetchesCode } from './packagers.ts';
import { assignedName, carriesCode, innerCommand, shellCode, tellsVariables } from './runners.ts';
import { commandWord } from './words.ts';

const MAX_CHARS = 16_384;
/** Work on all code of a command: a step for each character, and more for what makes a node of the syntax tree. */
const MAX_STEPS = 20_480;
const NODE_STEPS = 4;
const NODES = /[\s;&|<>()[\]{}"'`$\\!]/g;
/** Of substitutions, expansions and here-documents: nested ones take more than linear time to parse. */
const MAX_OPENERS = 64;
/** Code in code: `bash -c "bash -c ..."`. */
const MAX_CODE_DEPTH = 4;
const MAX_ACTIONS = 200;
/** Programs that run programs: `env nice env ...`. */
const MAX_RUNNERS = 16;

/** What a command does. Never empty: a command that does nothing is unreadable. */
export function readCommand(command: string): readonly CommandAction[] {
  const actions = new Reader(0, { steps: MAX_STEPS }).readCode(command);
  if (actions.length > MAX_ACTIONS) return [unreadableAction(`it does more than ${MAX_ACTIONS} things`)];
  return actions.length === 0 ? [unreadableAction('it runs nothing')] : actions;
}

/** Controls, and white space and invisible characters that readers may take for separators or for nothing. */
const ODD = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zs}\p{Zl}\p{Zp}]/u;

const OPENERS = /\$[({[]|`|[<>(]\(|<</g;

function oddCharacter(command: string): boolean {
  return ODD.test(command.replaceAll(/[ \n\t]/g, ''));
}

class Reader {
  readonly #depth: number;
  /** What is left for this code and all code in it. */
  readonly #left: { steps: number };
  readonly #actions: CommandAction[] = [];
  /** Whether the working directory may change, so that relative paths say nothing. */
  #moves = false;
  /** Where it goes, if it does so once and says where. */
  #folder: string | undefined;
  #runners = 0;

  constructor(depth: number, left: { steps: number }) {
    this.#depth = depth;
    this.#left = left;
  }

  readCode(code: string): readonly CommandAction[] {
    if (this.#depth > MAX_CODE_DEPTH) return [unreadableAction('it has code in code in code')];
    if (code.length > MAX_CHARS) return [unreadableAction(`it has more than ${MAX_CHARS} characters`)];
    this.#left.steps -= code.length + NODE_STEPS * (code.match(NODES) ?? []).length;
    if (this.#left.steps < 0) return [unreadableAction('it has too many parts')];
    if ((code.match(OPENERS) ?? []).length > MAX_OPENERS)
      return [unreadableAction(`it has more than ${MAX_OPENERS} substitutions`)];
    if (oddCharacter(code)) return [unreadableAction('it has an invisible or unusual character')];
    let tree: unknown;
    try {
      // As plain data: members that the parser works out when they are asked for are then all there.
      tree = JSON.parse(JSON.stringify(parse(code)));
    } catch {
      return [unreadableAction('it cannot be parsed')];
    }
    this.#visit(tree);
    const isRelative = (action: CommandAction): boolean =>
      (action.kind === 'read_file' ||
        action.kind === 'write_file' ||
        // Where the folder is not known, a name alone may be anything.
        (action.kind === 'name_file' &&
          action.path !== '' &&
          (this.#folder !== undefined || /[./]/.test(action.path)))) &&
      !posix.isAbsolute(action.path);
    const opened = this.#moves ? this.#actions.filter(isRelative) : [];
    const folder = this.#actions.some((action) => action.kind === 'set' && action.name === 'CDPATH')
      ? undefined
      : this.#folder;
    if (folder !== undefined) {
      // It may be there, or here if `cd` comes later or fails.
      for (const action of opened)
        if ('path' in action) this.#actions.push({ ...action, path: `${folder}/${action.path}` });
    } else if (opened.length > 0)
      this.#actions.push(unreadableAction('it opens a relative path after it changed the folder'));
    return this.#actions;
  }

  #visit(node: unknown): void {
    if (Array.isArray(node)) {
      for (const member of node) this.#visit(member);
      return;
    }
    if (!isObject(node)) return;
    if (this.#actions.length > MAX_ACTIONS) return;
    if (readList(node.errors).length > 0) this.#actions.push(unreadableAction('its syntax is not known'));
    this.#readNode(node);
    for (const member of Object.values(node)) this.#visit(member);
  }

  #readNode(node: JsonObject): void {
    switch (node.type) {
      case 'Command':
        this.#readProgram(node);
        return;
      case 'Redirect':
        this.#readRedirect(node);
        return;
      case 'Assignment':
        this.#addSet(String(node.name));
        if (node.index !== undefined) this.#actions.push(unreadableAction('it computes an index'));
        return;
      case 'For':
      case 'Select':
        this.#addSet(String(readObject(node.name).text));
        return;
      case 'SimpleExpansion':
      case 'ParameterExpansion':
        this.#readExpansion(node);
        return;
      case 'CommandExpansion':
      case 'ProcessSubstitution':
        if (!isObject(node.script)) this.#actions.push(unreadableAction('a substitution cannot be read'));
        return;
      case 'ArithmeticExpansion':
      case 'ArithmeticCommand':
      case 'ArithmeticFor':
        // A variable in it is evaluated again, with the substitutions in its value.
        if (!/^[\d\s+*/%()$-]*$/.test(String(node.body ?? node.text)))
          this.#actions.push(unreadableAction('it computes with variables'));
        return;
      case 'TestUnary':
      case 'TestBinary':
        this.#readTest(node);
        return;
      case 'FileDescriptorVariable':
      case 'Coproc':
        this.#addSet(String(readObject(node.name).text ?? node.name ?? 'COPROC'));
        return;
      case 'ExtendedGlob':
        // In zsh the same text may be a pattern that runs code.
        this.#actions.push(unreadableAction('shells differ about a pattern in it'));
        return;
      default:
    }
  }

  #readExpansion({ prefix, index, operation, parameter, text }: JsonObject): void {
    const { type, operator } = readObject(operation);
    if (
      prefix === '!' ||
      index !== undefined ||
      type === 'Transform' ||
      type === 'Slice' ||
      type === 'Unknown'
    )
      this.#actions.push(unreadableAction('it expands a variable in a way that may run its value'));
    const name = String(parameter ?? text).replace('$', '');
    if (!/^(?:OLD)?PWD$/.test(name) && nameKind(name) === 'strong')
      this.#actions.push(unreadableAction(`it has the value of ${name.slice(0, 64)}`));
    if (type === 'Default' && (operator === '=' || operator === ':=')) this.#addSet(name);
  }

  /** `-eq` and the like compute their sides, `-v` an index. */
  #readTest({ operator, operand, left, right }: JsonObject): void {
    const isNumber = (word: unknown): boolean =>
      /^-?\d{1,18}$/.test(commandWord(readObject(word)).value ?? '');
    if (operator === '-v' && !/^\w+$/.test(commandWord(readObject(operand)).value ?? ''))
      this.#actions.push(unreadableAction('it computes an index'));
    if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(String(operator)) && !(isNumber(left) && isNumber(right)))
      this.#actions.push(unreadableAction('it computes with variables'));
  }

  #readRedirect({ operator, target }: JsonObject): void {
    const { value, text } = commandWord(readObject(target));
    if (value === undefined) {
      this.#actions.push(unreadableAction(`it opens '${text.slice(0, 64)}', which the shell computes`));
      return;
    }
    const duplicates = operator === '>&' || operator === '<&';
    if ((duplicates && /^\d*-?$/.test(value)) || NOWHERE.includes(value)) return;
    if (/^\/dev\/(?:tcp|udp)\//.test(value)) this.#actions.push({ kind: 'connect', address: value.slice(9) });
    else this.#actions.push({ kind: operator === '<' ? 'read_file' : 'write_file', path: value });
    if (operator === '<>') this.#actions.push({ kind: 'read_file', path: value });
  }

  #readProgram(node: JsonObject): void {
    if (node.name === undefined || node.name === null) return;
    const rest = readList(node.suffix)
      .map(readObject)
      .filter(({ type }) => type === 'Word' || type === 'Assignment')
      // An assignment among the words is a word of the program, unless it is one that assigns.
      .map((word) => (word.type === 'Word' ? commandWord(word) : assignmentWord(word)));
    this.#readWords([commandWord(readObject(node.name)), ...rest], false, node);
  }

  /** @param adds whether words come to these that the text does not say. */
  #readWords(words: readonly CommandWord[], adds: boolean, node: JsonObject): void {
    const [name, ...rest] = words;
    if (name === undefined) return;
    if (name.value === undefined || name.value === '') {
      this.#actions.push(unreadableAction(`it runs '${name.text.slice(0, 64)}', which the shell computes`));
      return;
    }
    const program = toProgram(name.value);
    const isKnown = !adds && rest.every(({ value }) => value !== undefined);
    const shown = rest.map(({ value, text }) => value ?? text);
    this.#actions.push({ kind: isKnown ? 'run' : 'run_expanded', program, words: shown });
    if (MOVES.includes(program) || shown.some((word) => /^-(?:exec|ok)dir$/.test(word))) {
      const isPlain = program === 'cd' && isKnown && rest.length === 1 && !shown[0]?.startsWith('-');
      this.#folder = isPlain && !this.#moves ? shown[0] : undefined;
      this.#moves = true;
    }
    if (program === 'find' && shown.includes('-delete'))
      this.#actions.push({ kind: 'run_expanded', program: 'rm', words: shown });
    this.#readNames(program, rest);
    if (ASSIGNS.includes(program) && shown.some((word) => /\[.*[$`]/s.test(word)))
      this.#actions.push(unreadableAction('it computes an index'));
    if (program === 'printf' && shown[0]?.startsWith('-v') === true)
      this.#addSet(shown[0].slice(2) || (shown[1] ?? ''));
    this.#actions.push(...fileActions(program, rest, adds));
    this.#readInner(program, rest, adds, node);
  }

  /** The variables that a builtin sets by its words: `export "A=1"`, `read A`. */
  #readNames(program: string, words: readonly CommandWord[]): void {
    const declares = DECLARES.includes(program);
    // Without names they print all variables.
    const isBare = words.every(({ value }) => value?.startsWith('-'));
    if ((declares && isBare) || (program === 'set' && words.length === 0))
      this.#actions.push({ kind: 'run', program: 'printenv', words: [] });
    if (!declares && !READS.includes(program)) return;
    for (const word of words) {
      const name =
        assignedName(word) ?? (declares ? undefined : /^[A-Za-z_]\w*$/.exec(word.value ?? '')?.[0]);
      if (name !== undefined) this.#addSet(name);
      else if (word.value === undefined) this.#actions.push(unreadableAction('it computes what it sets'));
    }
  }

  #addSet(name: string): void {
    if (!this.#actions.some((action) => action.kind === 'set' && action.name === name))
      this.#actions.push({ kind: 'set', name });
  }

  #readInner(program: string, rest: readonly CommandWord[], adds: boolean, node: JsonObject): void {
    const code = shellCode(program, rest);
    const fed = code === 'unknown' && rest.length === 0 && !adds ? fedCode(node) : undefined;
    if (fed !== undefined) this.#readNested(fed);
    else if (code === 'unknown')
      this.#actions.push(unreadableAction(`'${program}' runs code that is not in the command`));
    else if (code !== undefined) this.#readNested(code);
    if (carriesCode(program, rest))
      this.#actions.push(unreadableAction(`'${program}' may run code in its words`));
    if (tellsVariables(program, rest))
      this.#actions.push(unreadableAction(`'${program}' may print variables`));
    if (fetchesCode(program, rest))
      this.#actions.push(unreadableAction(`'${program}' fetches code that is not in the command`));
    const inner = innerCommand(program, rest);
    if (inner === 'unknown' || (this.#runners >= MAX_RUNNERS && inner !== undefined))
      this.#actions.push(unreadableAction(`what '${program}' runs cannot be read`));
    else if (inner !== undefined) {
      for (const assigned of inner.assigned) this.#addSet(assigned);
      if (inner.words.length === 0 && adds)
        this.#actions.push(unreadableAction(`'${program}' runs what is not in the command`));
      this.#runners += 1;
      this.#readWords(inner.words, adds || inner.adds, {});
      this.#runners -= 1;
    }
  }

  #readNested(code: string): void {
    const nested = new Reader(this.#depth + 1, this.#left);
    this.#actions.push(...nested.readCode(code));
    if (nested.#moves) this.#folder = undefined;
    this.#moves ||= nested.#moves;
  }
}

const NOWHERE: readonly string[] = ['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/stdin'];
const MOVES: readonly string[] = ['cd', 'pushd', 'popd', 'chroot', 'env', 'sudo'];

/** Builtins of bash that take a variable with an index, which is computed. */
const ASSIGNS: readonly string[] =
  'test [ printf read unset declare typeset local export readonly let mapfile readarray wait getopts'.split(
    ' ',
  );

/** Builtins that set the variables in their words, and those that set the variables that they name. */
const DECLARES: readonly string[] = ['declare', 'typeset', 'local', 'export', 'readonly'];
const READS: readonly string[] = ['read', 'mapfile', 'readarray', 'getopts', 'unset'];

/** Folders of the system's own programs: a name and its path in one of them are one program. */
const SYSTEM = /^\/(?:usr\/(?:local\/)?)?s?bin\/([^/]+)$/;

function toProgram(name: string): string {
  if (!name.includes('/')) return name;
  return SYSTEM.exec(posix.normalize(name))?.[1] ?? name;
}

function assignmentWord(node: JsonObject): CommandWord {
  const text = String(node.text);
  const value =
    isObject(node.value) && node.value.type === 'Word' ? commandWord(node.value).value : undefined;
  return {
    text,
    value:
      value === undefined ? undefined : `${String(node.name)}${node.append === true ? '+' : ''}=${value}`,
  };
}

/** The script that a here-document or here-string feeds to a shell. */
function fedCode(node: JsonObject): string | undefined {
  const fed = [...readList(node.suffix), ...readList(node.prefix)]
    .map(readObject)
    .filter(({ type }) => type === 'HereDoc' || type === 'HereString');
  const [only, more] = fed;
  if (only === undefined || more !== undefined) return undefined;
  if (only.type === 'HereString') return commandWord(readObject(only.target)).value;
  const { text, parts } = readObject(only.body);
  const isLiteral = readObject(only.delimiter).quoted === true || !/[$`\\]/.test(String(text));
  return isLiteral && parts === undefined && typeof text === 'string' ? text : undefined;
}
