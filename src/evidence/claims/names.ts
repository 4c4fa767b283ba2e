/** Names of things that hold digits: `OPS-101`, `v3.14.2`, `#482`, `feature/2`. */
const TOKEN =
  /#\d{2,12}\b|(?<![\w.-])(?=[\w.-]{0,30}\d)[A-Za-z][A-Za-z0-9]{0,20}(?:[-._][A-Za-z0-9]{1,20}){1,5}(?![\w-])|(?<![\w.,/-])\d{3,10}-\d{3,10}(?![\w-])/g;
const MAX_TOKENS = 500;

/** Names that hold digits, with the form that those of their kind share: letters and signs, digits by their number. */
export const tokensIn = (text: string): readonly { readonly token: string; readonly form: string }[] =>
  (text.match(TOKEN) ?? []).slice(0, MAX_TOKENS).map((one) => {
    const token = one.toLowerCase();
    return { token, form: token.replace(/\d/g, '0') };
  });

const WORD = /\w{4,60}/g;
const HAS_DIGIT = /\d/;
/** `W5512`, `4521`, `3RK2T9`. */
const ID = /^(?:[A-Za-z_]+\d\w\w+|\d+|\d(?=[A-Z\d]{0,8}[A-Z]\d)[A-Z\d]{4,9})$/;

/** Words that hold letters and digits, or four digits and more, with their places. */
export const idsWithPlace = (text: string): readonly { readonly id: string; readonly index: number }[] =>
  [...text.matchAll(WORD)].flatMap(({ 0: id, index }) =>
    HAS_DIGIT.test(id) && ID.test(id) ? [{ id, index }] : [],
  );
