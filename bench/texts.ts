/** Texts for the benchmarks: made up, the same in every run, and as varied as real prompts. */

/** English words by frequency, most frequent first; then technical terms. */
const WORDS =
  `the of and to in a is that for it as was with be by on not he his but at are this have from or had an they
which one you were all her she there would their we him been has when who will no more if out so said what up its about
than into them can only other time new some could these two may first then do any like my now over such our man me even
most made after also did many off before must well back through years where much your way down should because long each
just state people too good world make very year still see own work men day get here between both life being under three
never know same last another while us might great old go come since against right came take used himself few house use
during without again place around however home small found thought went say part once high general upon school every does
got united number hand course water until always away public something fact less though far put head think called set
almost enough end government took night yet system better four nothing told eyes city going why days present point look
find asked second group later next room social business knew program give half side face toward five let young form given
per order large several national possible rather among members important often things looked early white case john become
big need within felt along children saw best church ever least power development light thing seemed family interest want
mind country area others done turned although open service problem certain kind different began help sense means whole
matter invoice payment customer refund account shipment contract retrieval embedding telemetry latency token prompt answer
context model agent server client request response schema tool policy approval threshold confidence hallucination evidence
database transaction timeout gateway deployment kubernetes endpoint authentication authorization certificate compliance`.split(
    /\s+/,
  );

const SUFFIXES = ['', '', '', '', 's', 'ed', 'ing', 'er', 'ly', 'ness'];

export type TextKind = 'english' | 'markdown' | 'json' | 'typographic' | 'cyrillic';

export const TEXT_KINDS: readonly TextKind[] = ['english', 'markdown', 'json', 'typographic', 'cyrillic'];

/** A text of `length` UTF-16 units. Different seeds give different texts of one vocabulary. */
export function makeText(kind: TextKind, length: number, seed: number): string {
  const writer = new Writer(seed);
  const parts: string[] = [];
  for (let size = 0; size < length; ) {
    const part = PARAGRAPHS[kind](writer);
    parts.push(part);
    size += part.length;
  }
  // Not a slice of a longer string: a flat text of its own, as one that comes from the network.
  return Buffer.from(parts.join('').slice(0, length), 'utf8').toString('utf8').slice(0, length);
}

const PARAGRAPHS: Readonly<Record<TextKind, (writer: Writer) => string>> = {
  english: (writer) => `${writer.sentences(5)}\n\n`,
  markdown: (writer) => writer.markdown(),
  json: (writer) => writer.record(),
  typographic: (writer) =>
    `“${writer.sentences(2)}” — ${writer.sentences(3)} (café, naïve…) €${writer.below(900)}\n`,
  cyrillic: (writer) => `${writer.sentences(3).replaceAll(/[a-z]/g, cyrillic)}\n\n`,
};

function cyrillic(letter: string): string {
  return 'абцдефгхийклмнопярстувшьыз'[letter.charCodeAt(0) - 97] ?? letter;
}

class Writer {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  word(): string {
    // Frequent words come up far more often than rare ones, which are inflected.
    const rank = Math.floor((this.below(1000) / 1000) ** 2.5 * WORDS.length);
    const word = WORDS[rank] ?? 'the';
    return rank < 120 ? word : word + (SUFFIXES[this.below(SUFFIXES.length)] ?? '');
  }

  sentence(): string {
    const words = Array.from({ length: 8 + this.below(14) }, () => {
      const chance = this.below(200);
      if (chance < 3) return String(this.below(10_000));
      if (chance < 4) return `${this.below(100)}.${this.below(100)}%`;
      return chance < 10 ? `${this.word()},` : this.word();
    });
    const text = words.join(' ');
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  }

  sentences(count: number): string {
    return Array.from({ length: count }, () => this.sentence()).join(' ');
  }

  time(): string {
    const two = (limit: number) => String(1 + this.below(limit)).padStart(2, '0');
    return `2026-${two(12)}-${two(28)}T${two(23)}:${two(59)}:${two(59)}Z`;
  }

  uuid(): string {
    const hex = (count: number) => Array.from({ length: count }, () => this.below(16).toString(16)).join('');
    return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  }

  markdown(): string {
    const items = Array.from({ length: 3 }, () => `- **${this.word()}**: ${this.sentence()}`).join('\n');
    const code = `\`\`\`ts\nconst ${this.word()} = await ${this.word()}.${this.word()}(${this.below(100)});\n\`\`\``;
    return `## ${this.sentence()}\n\n${this.sentences(4)}\n\n${items}\n\n${code}\n\nSee \`${this.word()}_id\` at ${this.time()}.\n\n`;
  }

  record(): string {
    const row = {
      id: this.below(1e6),
      uuid: this.uuid(),
      customer: `${this.word()} ${this.word()}`,
      created_at: this.time(),
      amount: this.below(1e5) / 100,
      note: this.sentence(),
      tags: [this.word(), this.word()],
    };
    return `${JSON.stringify(row, null, 2)},\n`;
  }
}
