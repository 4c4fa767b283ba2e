import type { FunctionCall, PartialArg } from '@google/genai';

/**
 * A function call whose arguments arrive piece by piece (`streamFunctionCallArguments`): a first part with the name,
 * then parts without one that add values by JSON path, until a part without `willContinue`.
 */
export class PartialCall {
  readonly call: FunctionCall;
  readonly #args: Record<string, unknown>;

  constructor(first: FunctionCall) {
    const { willContinue: _, partialArgs, ...call } = first;
    this.#args = { ...first.args };
    this.call = { ...call, args: this.#args };
    this.#add(partialArgs);
  }

  /** @returns true while more parts will come. */
  push(next: FunctionCall): boolean {
    this.#add(next.partialArgs);
    return next.willContinue === true;
  }

  #add(pieces: readonly PartialArg[] | undefined): void {
    for (const piece of pieces ?? []) setAtPath(this.#args, pathOf(piece.jsonPath ?? ''), piece);
  }
}

/** Splits `$.route.stops[2].name` into its steps. */
function pathOf(jsonPath: string): (string | number)[] {
  const steps: (string | number)[] = [];
  for (const [, key, quoted, index] of jsonPath.matchAll(/\.([^.[\]]+)|\['([^']*)'\]|\[(\d+)\]/g)) {
    steps.push(index === undefined ? (key ?? quoted ?? '') : Number(index));
  }
  return steps;
}

type Container = Record<string | number, unknown>;

function setAtPath(root: Container, steps: readonly (string | number)[], piece: PartialArg): void {
  let container = root;
  for (const [at, step] of steps.entries()) {
    if (at === steps.length - 1) {
      container[step] = grown(piece, Object.hasOwn(container, step) ? container[step] : undefined);
      return;
    }
    const known = Object.hasOwn(container, step) ? container[step] : undefined;
    const next =
      typeof known === 'object' && known !== null ? known : typeof steps[at + 1] === 'number' ? [] : {};
    Object.defineProperty(container, step, {
      value: next,
      enumerable: true,
      configurable: true,
      writable: true,
    });
    container = next as Container;
  }
}

/** Strings grow, everything else comes whole. */
function grown(piece: PartialArg, before: unknown): unknown {
  if (piece.stringValue !== undefined) return (typeof before === 'string' ? before : '') + piece.stringValue;
  if (piece.numberValue !== undefined) return piece.numberValue;
  if (piece.boolValue !== undefined) return piece.boolValue;
  return null;
}
