import type { ReadStep, Sentence } from './types.ts';

/** States that exclude each other. */
const STATES: readonly (readonly string[])[] = [
  ['sunny', 'rain', 'cloud', 'snow', 'clear', 'fog', 'overcast'],
  ['晴', '雨', '雪', '多云', '曇'],
  ['approved', 'rejected', 'declined'],
  ['online', 'offline'],
  ['enabled', 'disabled'],
  ['运输中', '签收', '已发货', '已取消'],
  ['delivered', 'pending', 'shipped', 'processing'],
];

/** A short result gives one state, the answer another one. */
export function wrongState(sentences: readonly Sentence[], steps: readonly ReadStep[]): Sentence | undefined {
  const result = steps.at(-1)?.text.toLowerCase() ?? '';
  if (result.length > 300 || steps.length > 2 || sentences.length > 6) return undefined;
  for (const states of STATES) {
    const given = states.filter((state) => result.includes(state) && !result.includes(`"${state}":false`));
    const said = sentences.filter(({ text }) => states.some((state) => text.toLowerCase().includes(state)));
    if (
      given.length === 1 &&
      said.length > 0 &&
      !said.some(({ text }) => text.toLowerCase().includes(given[0] as string))
    )
      return said[0];
  }
  return undefined;
}
