/** What values of options may be, and the one check of all of them. */
import { invalidOption } from './errors.ts';
import { refuseUnknownOptions } from './known-options.ts';

/** What a value may be. */
export interface OptionKind {
  /** Completes "Expected 'x' to be". */
  readonly expected: string;
  accepts(value: unknown): boolean;
  /** Whether it must be given. @defaultValue false */
  readonly isRequired?: boolean;
  /** Whether a value may be a secret, so that a message only says of which type it is. @defaultValue false */
  readonly isSecret?: boolean;
}

export type OptionKinds<O> = { readonly [K in keyof Required<O>]: OptionKind };

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function ofType(type: 'boolean' | 'string' | 'function', expected: string): OptionKind {
  return { expected, accepts: (value) => typeof value === type };
}

/** The kinds that several rooms use. */
export const kinds = {
  boolean: ofType('boolean', 'true or false'),
  string: ofType('string', 'a string'),
  function: ofType('function', 'a function'),
  number: { expected: 'a number', accepts: (value) => typeof value === 'number' && !Number.isNaN(value) },
  object: { expected: 'an object', accepts: isObject },
  list: { expected: 'a list', accepts: Array.isArray },
  strings: {
    expected: 'a list of strings',
    accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  },
  date: {
    expected: 'a valid Date',
    accepts: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
  },
  anything: { expected: 'anything', accepts: () => true },
} as const satisfies Record<string, OptionKind>;

/** One of these words. */
export function oneOf(...words: readonly string[]): OptionKind {
  const quoted = words.map((word) => `'${word}'`);
  return { expected: quoted.join(' or '), accepts: (value) => words.includes(value as string) };
}

/** An object, or an instance of a class, with these methods. */
export function having(what: string, ...methods: readonly string[]): OptionKind {
  const has = (value: object) => methods.every((name) => typeof Reflect.get(value, name) === 'function');
  return { expected: what, accepts: (value) => isObject(value) && has(value) };
}

/** Any of these kinds. */
export function either(...of: readonly OptionKind[]): OptionKind {
  return {
    expected: of.map(({ expected }) => expected).join(', or '),
    accepts: (value) => of.some((kind) => kind.accepts(value)),
    isSecret: of.some(({ isSecret }) => isSecret === true),
  };
}

/** This very value. */
export function exactly(value: null | boolean): OptionKind {
  return { expected: String(value), accepts: (given) => given === value };
}

export const required = (kind: OptionKind): OptionKind => ({ ...kind, isRequired: true });
export const secret = (kind: OptionKind): OptionKind => ({ ...kind, isSecret: true });

/**
 * Checks an object of options: that it is one, that something reads each of them, and what each is.
 * @param what whose options they are, for the message: `PolicyGate`, `mcpGhost()`.
 * @throws ObservatoryError `INVALID_OPTION` that names the option, what is expected and what was given.
 */
export function checkOptions<O extends object>(options: O, of: OptionKinds<O>, what: string): void {
  checkKinds(options, of, what);
  refuseUnknownOptions(options, Object.keys(of), what);
}

/** As {@link checkOptions}, where others read further names. */
export function checkKinds(options: object, of: Readonly<Record<string, OptionKind>>, what: string): void {
  checkValue(`the options of ${what}`, options, kinds.object);
  for (const [name, kind] of Object.entries(of)) {
    const value: unknown = Reflect.get(options, name);
    if (value === undefined && kind.isRequired !== true) continue;
    checkValue(`'${name}' of ${what}`, value, kind);
  }
}

/** Checks an argument. @throws ObservatoryError `INVALID_OPTION` */
export function checkValue(name: string, value: unknown, kind: OptionKind): void {
  if (kind.accepts(value)) return;
  const shown = kind.isSecret === true && typeof value === 'string' ? 'a string' : undefined;
  throw invalidOption(name, kind.expected, value, shown);
}
