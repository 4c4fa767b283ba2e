/** What a shell command would do, as far as its text says. */
export type CommandAction =
  /** Runs a program whose words are all known. */
  | { readonly kind: 'run'; readonly program: string; readonly words: readonly string[] }
  /** Runs a program some of whose words the shell computes; those are as they are written. */
  | { readonly kind: 'run_expanded'; readonly program: string; readonly words: readonly string[] }
  /** Gives a variable a value, which may change what programs do. */
  | { readonly kind: 'set'; readonly name: string }
  /** Opens a file. */
  | OfFile<'read_file' | 'write_file'>
  /** Has a word that may be a file, which the program may read, or write unless `isRead`; empty where the shell computes it. */
  | (OfFile<'name_file'> & { readonly isRead?: boolean })
  /** Has a word that is an address, which the program may open. */
  | { readonly kind: 'name_url'; readonly url: string }
  /** Opens a connection through a redirection. */
  | { readonly kind: 'connect'; readonly address: string }
  /** Does something that the text does not say. */
  | { readonly kind: 'unreadable'; readonly why: string };

interface OfFile<Kind extends string> {
  readonly kind: Kind;
  readonly path: string;
  /** Where the path is a folder: the shell's pattern of the names in it, with `*` and `?`. */
  readonly names?: string;
  /** Where the path is a folder: whether all that is in it may be read. */
  readonly isTree?: boolean;
  /** Where it is copied to, if that is known: a folder of files with its name, or the file itself. */
  readonly copiedTo?: string;
}

export interface CommandWord {
  /** As it is written. */
  readonly text: string;
  /** What the program gets; undefined where the shell computes it. */
  readonly value: string | undefined;
}

export function unreadableAction(why: string): CommandAction {
  return { kind: 'unreadable', why };
}
