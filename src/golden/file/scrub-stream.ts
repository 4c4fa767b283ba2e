import type { StreamEvent } from './format.ts';

interface Leaf {
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string | number;
  readonly text: string;
}

/**
 * The events with secrets taken out that a stream has cut in pieces: what stands at one place of several events is read
 * as one text. The replacement stands where the secret began.
 *
 * @param clean takes secrets out of a text.
 */
export function scrubStream(events: readonly StreamEvent[], clean: (text: string) => string): StreamEvent[] {
  const copies = structuredClone(events) as StreamEvent[];
  const byPlace = new Map<string, Leaf[]>();
  for (const event of copies) if ('data' in event) collect(event as { data: unknown }, 'data', '', byPlace);
  for (const leaves of byPlace.values()) scrubTogether(leaves, clean);
  return copies;
}

function collect(
  holder: Leaf['holder'],
  key: string | number,
  place: string,
  byPlace: Map<string, Leaf[]>,
): void {
  const value = (holder as Record<string | number, unknown>)[key];
  if (typeof value === 'string') {
    const leaves = byPlace.get(place) ?? [];
    byPlace.set(place, leaves);
    leaves.push({ holder, key, text: value });
  } else if (Array.isArray(value)) {
    for (const index of value.keys()) collect(value, index, `${place}[${index}]`, byPlace);
  } else if (typeof value === 'object' && value !== null) {
    for (const name of Object.keys(value)) {
      collect(value as Record<string, unknown>, name, `${place}.${name}`, byPlace);
    }
  }
}

function scrubTogether(leaves: readonly Leaf[], clean: (text: string) => string): void {
  const whole = leaves.map((leaf) => leaf.text).join('');
  const cleaned = clean(whole);
  if (cleaned === whole) return;
  // What the two texts share at both ends stays in its pieces; what is between goes to where it begins.
  let start = 0;
  while (start < cleaned.length && whole[start] === cleaned[start]) start += 1;
  let tail = 0;
  const most = Math.min(whole.length, cleaned.length) - start;
  while (tail < most && whole.at(-1 - tail) === cleaned.at(-1 - tail)) tail += 1;
  const end = whole.length - tail;
  const replacement = cleaned.slice(start, cleaned.length - tail);
  let from = 0;
  let isPlaced = false;
  for (const { holder, key, text } of leaves) {
    const to = from + text.length;
    const before = text.slice(0, Math.max(0, Math.min(text.length, start - from)));
    const after = text.slice(Math.max(0, Math.min(text.length, end - from)));
    const isHere = !isPlaced && to >= start && (to > start || to >= whole.length);
    if (isHere || (to > start && from < end)) {
      (holder as Record<string | number, unknown>)[key] =
        before + (isHere ? replacement : '') + (from < end ? after : text);
    }
    if (isHere) isPlaced = true;
    from = to;
  }
}
