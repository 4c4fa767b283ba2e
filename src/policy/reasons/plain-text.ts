/** Texts as the input policy reads them: one spelling for what looks or sounds alike. */

/** Letters of other scripts that look like Latin ones: Unicode confusables.txt, the lower-case Cyrillic and Greek. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    а: 'a',
    е: 'e',
    о: 'o',
    р: 'p',
    с: 'c',
    у: 'y',
    х: 'x',
    і: 'i',
    ј: 'j',
    ѕ: 's',
    ԁ: 'd',
    һ: 'h',
    ո: 'n',
    к: 'k',
    м: 'm',
    т: 't',
    в: 'b',
    н: 'h',
    α: 'a',
    ο: 'o',
    ρ: 'p',
    ε: 'e',
    ι: 'i',
    κ: 'k',
    ν: 'v',
    τ: 't',
    υ: 'u',
    χ: 'x',
  }),
);

const LEET: ReadonlyMap<string, string> = new Map(
  Object.entries({ '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', $: 's' }),
);

/**
 * Lower-cases, folds compatibility forms (fullwidth letters), accents and look-alikes, drops invisible characters and
 * turns every run of white space into one space. Words that mix digits into letters (`h4ck`) are read as letters.
 */
export function plainText(text: string): string {
  const folded = text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
    .replace(
      /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/gu,
      (char) => LOOK_ALIKES.get(char) ?? char,
    )
    .replace(/[‘’ʼ]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/\s+/g, ' ')
    .trim();
  return folded.replace(/[a-z0-9@$]+/g, (word) =>
    /[a-z]/.test(word) && /[0134579@$]/.test(word) && !/^[a-z]+\d+$/.test(word)
      ? word.replace(/[013457@$]/g, (char) => LEET.get(char) ?? char)
      : word,
  );
}

/** The text without quotations: quoting a sentence is not saying it. */
export function withoutQuotations(text: string): string {
  return text.replace(/"[^"]{1,400}"/g, ' ').replace(/(^|[\s(])'[^']{1,400}'(?=$|[\s).,;:?!])/g, '$1 ');
}
