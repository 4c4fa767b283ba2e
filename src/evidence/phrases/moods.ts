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

/** There is none of something, it is free to be taken, or it is as it was before: said where nothing was found. */
export const ABSENCES = new Phrases({
  en: "no, none, nobody, nothing, never, neither, without, empty, zero, not, cannot, can't, couldn't, don't, doesn't, didn't, isn't, wasn't, aren't, weren't, hasn't, haven't, won't, 0, unable, available, free, unused, already, still, previously",
  de: 'kein*, nicht, nichts, niemand, leer, ohne, frei, verfügbar, schon, bereits',
  es: 'sin, ningún, ninguna, ninguno, nada, nadie, vacío, vacía, no, libre, disponible, ya',
  fr: 'aucun*, rien, pas, sans, vide, personne, libre, disponible, déjà',
  pt: 'nenhum*, não, nada, sem, ninguém, vazio, livre, disponível, já',
  ja: 'なし, ない, なかった, ません, 無, 空いて, 使えます, 既に, すでに',
  zh: '没, 不, 未, 无, 可用, 可以使用, 已经',
});
