/** A part of an answer, and whether the other answer lacks it. */
export interface AnswerWord {
  readonly text: string;
  readonly isOwn: boolean;
}

/** Words of each answer that are compared; what follows is shown as equal to nothing. */
const MAX_WORDS = 1500;

/** The words of two answers, with what only one of them has marked, by the longest common sequence. */
export function changedWords(
  a: string,
  b: string,
): { readonly a: readonly AnswerWord[]; readonly b: readonly AnswerWord[]; readonly changed: number } {
  const [one, other] = [splitWords(a), splitWords(b)];
  const [left, right] = [one.slice(0, MAX_WORDS), other.slice(0, MAX_WORDS)];
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] as number;
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const marked = { a: [] as AnswerWord[], b: [] as AnswerWord[] };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      marked.a.push({ text: left[i++] as string, isOwn: false });
      marked.b.push({ text: right[j++] as string, isOwn: false });
    } else if (j >= right.length || (i < left.length && at(i + 1, j) >= at(i, j + 1))) {
      marked.a.push({ text: left[i++] as string, isOwn: true });
    } else marked.b.push({ text: right[j++] as string, isOwn: true });
  }
  for (const text of one.slice(MAX_WORDS)) marked.a.push({ text, isOwn: true });
  for (const text of other.slice(MAX_WORDS)) marked.b.push({ text, isOwn: true });
  const own = (words: readonly AnswerWord[]) =>
    words.filter((word) => word.isOwn && /\S/u.test(word.text)).length;
  return { a: marked.a, b: marked.b, changed: Math.max(own(marked.a), own(marked.b)) };
}

/** Words and the spaces between them. */
function splitWords(text: string): readonly string[] {
  return text.match(/\S+|\s+/gu) ?? [];
}
