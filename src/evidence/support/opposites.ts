import { type Tokenizer, type Tokens, toShortStem } from './tokens.ts';

/** Words of which one excludes the others in its place: a sentence with another one than its passage says something else. */
const GROUPS = `increase decrease, rise fall, more less, more fewer, before after, first last, high low, higher lower,
up down, win lose, won lost, always never, all some, most least, early late, open close, begin end,
begin finish, good bad, best worst, large small, young old, major minor, male female, husband wife,
father mother, son daughter, brother sister, she he, her his, positive negative, agree disagree,
able unable, accept reject, accept refuse, buy sell, gain loss, support oppose, love hate,
allow prohibit, include exclude, similar different, increased reduced, public private,
possible impossible, true false, success failure, north south, east west,
northern southern eastern western, northeast northwest southeast southwest,
one two three four five six seven eight nine ten, second third fourth fifth,
hundred thousand million billion trillion, monday tuesday wednesday thursday friday saturday sunday,
january february april june july august september october november december, mehr weniger, vor nach,
hoch niedrig, immer nie, montag dienstag mittwoch donnerstag freitag samstag sonntag, más menos,
antes después, mayor menor, siempre nunca, lunes martes miércoles jueves viernes sábado domingo,
plus moins, avant après, toujours jamais`;

/** Groups of a word, by its stem. */
const GROUPS_OF = new Map<string, number[]>();
for (const [group, words] of GROUPS.split(/,\s/).entries())
  for (const word of words.split(' ')) {
    const groups = GROUPS_OF.get(toShortStem(word));
    if (groups === undefined) GROUPS_OF.set(toShortStem(word), [group]);
    else if (!groups.includes(group)) groups.push(group);
  }

/** In how many groups a sentence has a word that its passage lacks, and the passage one that the sentence lacks. */
export class Opposites {
  readonly #tokenizer: Tokenizer;
  readonly #groups: (readonly number[] | undefined)[] = [];

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  count(sentence: Tokens, passage: ReadonlySet<number>): number {
    const said = new Set(sentence.ids.filter((id) => this.#of(id).length > 0));
    if (said.size === 0) return 0;
    const given = new Set<number>();
    for (const id of passage) if (!said.has(id)) for (const group of this.#of(id)) given.add(group);
    const other = new Set<number>();
    for (const id of said)
      if (!passage.has(id)) for (const group of this.#of(id)) if (given.has(group)) other.add(group);
    return other.size;
  }

  #of(id: number): readonly number[] {
    this.#groups[id] ??= GROUPS_OF.get(this.#tokenizer.stems[id] as string) ?? NONE;
    return this.#groups[id];
  }
}
const NONE: readonly number[] = [];
