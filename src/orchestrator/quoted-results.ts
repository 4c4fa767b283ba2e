/** Bounds of the search, so that its cost does not grow with the size of results or the length of a run. */
const MAX_VALUES = 12;
const MAX_RESULT_CHARS = 20_000;
const MAX_RESULTS = 40;
/** Shorter values turn up in results by chance. */
const MIN_VALUE_CHARS = 4;

/**
 * Which earlier results the arguments of a call quote: positions of those that hold a text of the arguments word for
 * word. It says where a call got its values from; a value the model reworded is not found.
 */
export function quotedResults(
  args: Readonly<Record<string, unknown>>,
  resultTexts: readonly string[],
): number[] {
  const values = textValues(args);
  const found: number[] = [];
  if (values.length === 0) return found;
  for (let index = Math.max(0, resultTexts.length - MAX_RESULTS); index < resultTexts.length; index += 1) {
    const text = (resultTexts[index] ?? '').slice(0, MAX_RESULT_CHARS);
    if (values.some((value) => text.includes(value))) found.push(index);
  }
  return found;
}

function textValues(args: unknown): string[] {
  const values: string[] = [];
  const queue: unknown[] = [args];
  // Breadth first and bounded: arguments may be deep or wide.
  for (let index = 0; index < queue.length && index < 200 && values.length < MAX_VALUES; index += 1) {
    const value = queue[index];
    if (typeof value === 'string') {
      if (value.length >= MIN_VALUE_CHARS && value.length <= 500) values.push(value);
    } else if (typeof value === 'object' && value !== null) queue.push(...Object.values(value).slice(0, 50));
  }
  return values;
}
