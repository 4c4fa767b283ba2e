import { Phrases } from './phrases.ts';

/** Words that make a plan, a wish, a condition or a rule of what follows in their clause. */
export const HEDGES = new Phrases({
  en: "will, would, could, may, might, shall, should, can, i'll, we'll, you'll, they'll, it'll, let's, what, please, once, if, when, where, after, before, unless, until, must, being, whether, as soon as, you said, you mentioned, you want, you wanted, you told, you stated, going to, let me, to proceed, order to, need to, needs to, want to, would like, try to, about to, has to, have to, like to, to hear, hear that, hear you, sorry that, understand that, understand you, sounds like, provided that, provided you, long as, assuming, make sure, making sure, sure that, to be, to have, i'd, you'd, shouldn't",
  de: 'wird, werden, würde, kann, könnte, soll, sollte, wenn, falls, sobald, bitte, möchten, möchte',
  es: 'voy a, puedo, podría, si, cuando, quiere, desea, será, debe',
  fr: 'vais, peux, pourrait, si, quand, voulez, souhaitez, sera, doit',
  pt: 'vou, posso, poderia, se, quando, quer, deseja, será, deve',
  ja: 'しますか, でしょうか, ください, 場合, したい, できます, する予定',
  zh: '请, 如果, 可以, 是否, 将会, 将要, 吗, 能否, 需要',
});

/** Sentences of advice, offers and requests begin so. */
export const IMPERATIVES = new Phrases({
  en: 'please, confirm, reply, respond, provide, review, choose, tell, type, select, specify, verify, let, ask, check, make, ensure, be, use, try, run, install, open, click, go, visit, set, add, keep, avoid, consider, look, look for, monitor, follow, contact, call, copy, paste, save, create, customize, update, replace, restart, start, begin, prepare, remember, note, take, enter, navigate, download, test, write, include, apply, compare, focus, find, search, share, book, see, watch, read, give, get, put, place, mix, cook, heat, boil, stir, pour, cut, peel, rinse, steam, simmer, roll, serve, remove, bring, season, bake, fry, wash, soak, slice, chop, arrange, blend, build, train, plan, schedule, study, practice, drink, eat, wear, carry, pack, buy, order, pay, leave, wait, stay, allow, enable, disable, configure, deploy, implement, integrate, schedule, subscribe, sign up, log in, connect, turn, press, return, feel free, stick',
  de: 'bitte, prüfen, achten, verwenden, öffnen, klicken, beachten',
  es: 'por favor, revisa, usa, asegúrate, considera, verifica',
  fr: 'veuillez, vérifiez, utilisez, assurez, pensez',
  pt: 'por favor, verifique, use, considere, certifique',
  ja: 'ください',
  zh: '请, 建议',
});

/** Advice, offers, limits of the speaker and general truths: no claim about what was done or found. */
export const ADVICE = new Phrases({
  en: "you can, you could, you should, you may, you might, you'll need, you will need, you would need, you need to, you'll want, i recommend, i'd recommend, i would recommend, i suggest, i'd suggest, we recommend, recommend checking, consider, make sure, be sure, feel free, let me know, would you like, if you, i can help, i can provide, happy to, would need, please, i'll, i will, let me, let's, i would, would be, could be, should be, may be, might be, can be, i need, we need, remember to, worth, ideal for, suitable for, for example, for instance, such as, recommended, suggested, to get, in order to, want to, next step, next steps, assuming, like",
  de: 'sie können, du kannst, ich empfehle, sollten, könnten, falls, wenn sie, zum beispiel',
  es: 'puedes, puede, podría, recomiendo, debería, si desea, por ejemplo',
  fr: 'vous pouvez, je recommande, devriez, si vous, par exemple',
  pt: 'você pode, recomendo, deveria, se você, por exemplo',
  ja: 'ください, おすすめ, 場合, でしょう, かもしれません, 例えば',
  zh: '建议, 可以, 如果, 请, 例如, 可能',
});

/** Of what is so as a rule: an amount in it is a fact all the same. */
export const GENERAL = new Phrases({
  en: 'depends on, depending on, in general, generally, typically, usually, often, tends to, normally, in most cases',
  de: 'normalerweise, in der regel',
  es: 'normalmente, generalmente',
  fr: 'généralement',
  pt: 'geralmente',
  ja: '一般的に',
  zh: '通常, 一般',
});

/** Headings over what is advised, not found. */
export const ADVICE_HEADINGS = new Phrases({
  en: 'recommend*, tip, tips, next step*, how to, usage, note, notes, consideration*, advice, step, steps, instruction*, option, options, suggestion*, guide, guidance, guideline*, best practice*, to do, todo, plan, plans, strategy, strategies, schedule, routine, itinerary, timeline, example*, template, checklist, warning*, red flag*, limitation*, what you, why, pros, cons, preparation, important, keep in mind, factor*, watch, faq, questions, ingredients, day, week, morning, afternoon, evening, feature*, script, code, ',
  de: 'empfehlung*, tipps, hinweise, nächste schritte, anleitung',
  es: 'recomendaciones, consejos, pasos, notas',
  fr: 'recommandations, conseils, étapes, remarques',
  pt: 'recomendações, dicas, passos, notas',
  ja: 'おすすめ, 注意, 手順, ヒント',
  zh: '建议, 提示, 步骤, 注意, 推荐',
});

/** Of all of several things. */
export const ALL = new Phrases({
  en: 'all, both, every, everything, each of, all of, everyone',
  de: 'alle, alles, allen, beide, beiden, sämtliche',
  es: 'todo, todos, todas, ambos, ambas, los dos, las dos',
  fr: 'tous, toutes, tout, les deux',
  pt: 'todos, todas, tudo, ambos, ambas, os dois',
  ja: 'すべて, 全て, 全部, 両方, 全員',
  zh: '全部, 所有, 都, 两个都, 均',
});

/** Said of a thing as it was found, or done by somebody before. */
export const ALREADY = new Phrases({
  en: 'already, earlier, previously, ever before, once before, still',
  de: 'schon, bereits, zuvor',
  es: 'ya, antes, anteriormente',
  fr: 'déjà, auparavant',
  pt: 'já, anteriormente',
  ja: '既に, すでに',
  zh: '已经, 之前',
});

/** There is none of something. */
export const ABSENCES = new Phrases({
  en: "no, none, nobody, nothing, never, neither, without, empty, zero, not, cannot, can't, couldn't, don't, doesn't, didn't, isn't, wasn't, aren't, weren't, hasn't, haven't, won't, 0, unable",
  de: 'kein*, nicht, nichts, niemand, leer, ohne',
  es: 'sin, ningún, ninguna, ninguno, nada, nadie, vacío, vacía, no',
  fr: 'aucun*, rien, pas, sans, vide, personne',
  pt: 'nenhum*, não, nada, sem, ninguém, vazio',
  ja: 'なし, ない, なかった, ません, 無',
  zh: '没, 不, 未, 无',
});

/** What is not found is free to be taken. */
export const FREE = new Phrases({
  en: 'available, free, unused, not taken',
  de: 'frei, verfügbar',
  es: 'libre, disponible',
  fr: 'libre, disponible',
  pt: 'livre, disponível',
  ja: '空いて, 使えます',
  zh: '可用, 可以使用, 没有被',
});

/** Said of an answer before this one, or of the talk itself. */
export const TALK = new Phrases({
  en: 'i mentioned earlier, i shared earlier, i provided earlier, as mentioned, this call is, this call may be, this conversation, this chat, i mentioned above, i quoted earlier, as i said',
});
