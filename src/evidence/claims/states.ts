/** Claims of acts without a verb of the act: what is so only after it. All are of lower case. */

export const BARE = /^\W{0,4}(?:all )?done\W{0,4}$/;
/** "All done", "it went through". */
export const WENT_THROUGH =
  /^\W{0,4}(?:all )?done\W{0,4}$|\b(?:went (?:through|out)|everything is (?:confirmed|set|done)|all (?:set|done)|taken care of|is (?:now )?complete\b|was (?:a )?success(?:ful)?\b|were successful\b|is successful\b|is (?:now |all )?yours (?:on|from|at|until)\b(?![^.!?]{0,80}\bif\b))|^\W{0,4}[a-z]{4,14} complete[!.]|^\W{0,4}(?:listo|hecho|erledigt|fertig|c['’]est (?:fait|bon|réglé)|pronto|feito|fatto)(?:[!.,:;]|$)|^\W{0,4}(?:搞定|办好了|弄好了)/;
/** "You're in the queue": where somebody is only after an act. */
export const IN_PLACE =
  /\byou(?:['’]re| are) (?:now |already |all |officially ){0,2}(?:in (?:the |a |our )?(?:[a-z]{1,12} ){0,2}(queue|line)|on (?:the |a |our )?(?:[a-z]{1,12} ){0,2}(wait(?:ing )?list|guest list|roster|rota)|(signed up|checked in|enrolled|registered|subscribed|unsubscribed))\b/;
/** The state that an act has when it went well; of things that nobody touched it can be said too. */
export const IN_EFFECT =
  /\b(?:is|are) (?:now |already |all )?(?:live|set|in (?:place|effect|force))\b|\b(?:is|are) now (?:an?|part|in|on|off|at|the)\b|\b(?:your|the) (?:[a-z0-9#-]{1,24} ){1,4}now (?:has|includes?|contains?|shows?|goes to|ships? to|comes? with)\b/;
export const LOOKED_UP =
  /^\W{0,4}(?:looking at|according to|based on) (?:the|your) (?:[a-z]{1,12} )?(?:history|records?|logs?|calendar|account|database|schedule|inbox|repository)\b|(?<![a-zà-ÿ])(?:d['’]après|selon|según|laut|gemäß|de acordo com|secondo) (?:[a-zà-ÿ]{1,12} ){0,3}(?:votre|vos|tus?|sus?|ihre?[mnr]?|deine?[mnr]?|seus?|suas?) (?:compteur|compte|agenda|historique|zähler|konto|kalender|postfach|verlauf|contador|cuenta|calendario|historial|conta|calendário|histórico)|我(?:已经?|刚刚?|帮您)?(?:查|查询|检查)(?:了|到)|(?:調べ|検索し|確認し)ました|(?<![a-zß-ÿ])(?:ich habe (?:[a-zß-ÿ]{1,20} ){0,5}(?:nachgesehen|nachgeschaut|geprüft|überprüft|gefunden)|he (?:consultado|revisado|verificado|comprobado|buscado|encontrado)|j['’]ai (?:vérifié|consulté|trouvé|cherché))(?![a-zß-ÿ])/;
/** "The invite is in Lou's inbox", "Die Überweisung ist raus". */
export const SENT_OFF =
  /\b(invit(?:e|ation)|e-?mail|message|reminder|notification|dispute|transfer|payment|application|complaint|ticket|request)s?\b(?:[^.!?;]|\.(?=\d)){0,70} (?:is|are) (?:now )?(?:in [^.!?;,]{1,30}['’]s (?:inbox|calendar)|in(?=[.!,;]|$)|out(?=[.!,;]|$)|on (?:its|their) way)|(?<![a-zß-ÿ])(?:ist|sind) (?:jetzt |schon |bereits )?(?:raus|unterwegs|erledigt)(?![a-zß-ÿ])/;

/** "The migration finished without problems": of what ran by itself too. */
export const WENT_WELL =
  /\b(?:finished|completed|ran|passed|succeeded) (?:successfully|without (?:any )?(?:problems?|errors?|issues?))/;
