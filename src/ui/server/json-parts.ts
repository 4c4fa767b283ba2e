import { sliced } from '../../base/index.ts';

/** Elements of a list that are written at once. */
const PART = 100;

/**
 * An answer as JSON, in parts: the lists of a long run, which are its only large members, are written piece by piece, so
 * that other requests get their turn.
 */
export async function* jsonParts(answer: object): AsyncGenerator<string> {
  const turn = sliced();
  let before = '{';
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (!Array.isArray(value) || value.length <= PART) {
      yield JSON.stringify(value);
      continue;
    }
    for (let i = 0; i < value.length; i += PART) {
      const part = JSON.stringify(value.slice(i, i + PART)).slice(1, -1);
      yield `${i === 0 ? '[' : ','}${part}`;
      await turn();
    }
    yield ']';
  }
  yield before === '{' ? '{}' : '}';
}
