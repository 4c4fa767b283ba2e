import { isObject, type JsonObject, readList, readObject, toText } from '../../json/index.ts';
import type { StreamRoom } from '../contract/index.ts';

/** A longer path is not one that a schema has. */
const MAX_PATH = 1_024;
/** What a piece takes of the room beside its text, so that their number is bounded too. */
const PIECE_COST = 64;
const STEP = /\.([^.[\]]+)|\['([^']*)'\]|\[(\d{1,6})\]/g;

/**
 * A function call that may come in pieces (`streamFunctionCallArguments`): a first part with the name, then parts
 * without one that add values by JSON path. `willContinue` announces them, but not everywhere.
 */
export class StreamedCall {
  readonly #first: JsonObject;
  readonly #room: StreamRoom;
  /** The arguments that came in pieces; undefined while they are those of the first part. */
  #args: Container | undefined;
  #signature: unknown;
  #id: unknown;

  /** @param first part, with the name of the call. */
  constructor(first: JsonObject, room: StreamRoom) {
    this.#first = first;
    this.#room = room;
    this.push(first);
  }

  /** Adds the pieces of a part. */
  push(part: JsonObject): void {
    const { id, partialArgs } = readObject(part.functionCall);
    this.#signature ??= part.thoughtSignature;
    this.#id ??= id;
    for (const piece of readList(partialArgs)) if (isObject(piece)) this.#add(piece);
  }

  #add(piece: JsonObject): void {
    this.#args ??= structuredClone(readObject(readObject(this.#first.functionCall).args));
    const path = toText(piece.jsonPath) ?? '';
    const size = PIECE_COST + (toText(piece.stringValue)?.length ?? 0);
    if (path.length <= MAX_PATH && this.#room.take(size)) this.#set(this.#args, listSteps(path), piece);
  }

  #set(root: Container, steps: readonly (string | number)[], piece: JsonObject): void {
    let container = root;
    for (const [at, step] of steps.entries()) {
      const known = Object.hasOwn(container, step) ? container[step] : undefined;
      // An index far beyond the end of its list would make room for what nobody wrote.
      if (Array.isArray(container) && !this.#room.take(8 * Math.max(0, Number(step) - container.length)))
        return;
      const following = steps[at + 1];
      const next = following === undefined ? grown(piece, known) : containerFor(following, known);
      define(container, step, next);
      container = next as Container;
    }
  }

  /** The part as it would be in an answer that was not streamed. */
  part(): JsonObject {
    const { willContinue: _, partialArgs: __, ...call } = readObject(this.#first.functionCall);
    const id = this.#id === undefined ? {} : { id: this.#id };
    const args = this.#args === undefined ? {} : { args: this.#args };
    const signature = this.#signature === undefined ? {} : { thoughtSignature: this.#signature };
    return { ...this.#first, ...signature, functionCall: { ...call, ...id, ...args } };
  }
}

type Container = Record<string | number, unknown>;

function containerFor(step: string | number, known: unknown): unknown {
  if (typeof known === 'object' && known !== null) return known;
  return typeof step === 'number' ? [] : {};
}

/** Splits `$.route.stops[2].name` into its steps. */
function listSteps(jsonPath: string): (string | number)[] {
  const steps: (string | number)[] = [];
  for (const [, key, quoted, index] of jsonPath.matchAll(STEP)) {
    steps.push(index === undefined ? (key ?? quoted ?? '') : Number(index));
  }
  return steps;
}

/** Plain assignment to `__proto__` would set the prototype. */
function define(container: Container, step: string | number, value: unknown): void {
  Object.defineProperty(container, step, { value, enumerable: true, configurable: true, writable: true });
}

/** Strings grow, everything else comes whole. */
function grown({ stringValue, numberValue, boolValue }: JsonObject, before: unknown): unknown {
  if (typeof stringValue === 'string') return (typeof before === 'string' ? before : '') + stringValue;
  return numberValue ?? boolValue ?? null;
}
