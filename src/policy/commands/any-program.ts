/** What words say of code, whatever program they are for: an option by its name, a shell, a call, an escape. */

/** `--pager`, `--ssh-cmd`, `-exec`, `-DCMAKE_C_COMPILER_LAUNCHER`: what stands there is run. */
const RUNS =
  /^--?(?:[a-z\d]+[-_])*(?:exec|toolexec|vettool|launcher|linker|execute|eval|command|cmd|rsh|pager|editor|engine|preload|hook|askpass|interpreter|shell|shell-escape|pre)(?:=|$)/i;
/** A shell as a word of its own, or at the start of a part of a word. */
const A_SHELL = /(?:^|[\s=:'"({!|@])(?:\/(?:usr\/)?bin\/)?(?:ba|da|z|k|c|tc|fi|a)?sh(?=$|[\s)'"}])/;
/** A call in the languages in which one runs programs; an escape to the shell; a module that is its own address. */
const CALLS =
  /\b(?:system|exec\w{0,8}|popen|spawn\w{0,4}|write18|shell_exec)\s*[({]|^!|[=:][!|]|\w_(?:command|cmd)=|(?:^|=)(?:data|javascript):/;
/** Options whose value is for people. */
const SAID = /^(?:-m|--(?:message|body|title|description|notes?|subject|comment))(?=$|=)/;

/** Programs that take words as text, or that are read by their own rules. */
const TEXT = new Set(
  `echo printf grep egrep fgrep rg ag ls cat bat head tail wc diff file stat which type whatis apropos test [ true basename
  dirname chmod chown cp mv mkdir rm ln touch readlink realpath cd find git sed awk gawk mawk nawk eval trap`.split(
    /\s+/,
  ),
);

/** Those of them that may run a program for each file. */
const LISTERS = /^(?:rg|ag|bat)$/;

/** Whether a word is text for people. For some programs `-m` is a file. */
export function isSaid(text: string, before = ''): boolean {
  return SAID.test(text) || (SAID.test(before) && !/^(?:[~.]|\S*\/)\S*$/.test(text));
}

/** Whether words are code or name a program by their form. */
export function looksLikeCode(program: string, texts: readonly string[]): boolean {
  if (TEXT.has(program))
    return LISTERS.test(program) && texts.some((text) => /^--/.test(text) && RUNS.test(text));
  return texts.some((text, at) => {
    if (isSaid(text, texts[at - 1])) return false;
    return RUNS.test(text) || A_SHELL.test(text) || CALLS.test(text);
  });
}
