import type { StepOutcome } from './types.ts';

export interface StepEnd {
  readonly outcome: StepOutcome;
  readonly hadNoEffect?: boolean;
  /** It failed by a status: of a call that reads, that of the thing. */
  readonly isState?: boolean;
  /** How many parts went well. */
  readonly done?: number;
}

/** Patterns of texts are of lower case. A failure at the beginning of a text, or said by the common words of programs. */
export const FAILED_TEXT =
  /^\W{0,4}(?:mcp |http |\w{1,30}\s?)?(?:error|err|exception|traceback|fatal|fehler|erreur|erro|failed|failure|unauthorized|forbidden|(?:access |permission |policy |request )?denied|fail\b|timeout|request timed out|timed out|invalid|validation failed|unknown (?:action|tool|command)|échec|falló|失败|失敗|错误|錯誤|エラー)|^\W{0,4}(?:(?:http|smtp|status)(?: code)?[/: ]?\d?\.?\d?\s?)?[45]\d\d\b|\b(?:not (?:be )?(?:complete|process)ed|konnte nicht|no se pudo|could not be|cannot be|n'a pas pu|impossible de|timed out|tiempo de espera|zeitüberschreitung|(?:operation )?not permitted|cannot (?:remove|open|create|access|stat|read|write)|connection refused|econn\w{1,20}|enoent|eacces|[45]\d\d (?:bad (?:gateway|request)|internal server error|not found|forbidden|service unavailable|unauthorized|gateway time-?out|too many requests))\b|できません|失敗|失败/;
/** What a short text without more says of a call that did not go through. */
export const REFUSED_TEXT =
  /\b(?:blocked|aborted|exceeded|unprocessable|unreachable|refused|rejected|forbidden|unauthori[sz]ed|(?:not|un)(?: be)? (?:reachable|permitted|allowed|authori[sz]ed|possible|available|successful|changed|executed|performed|completed|processed)|nothing (?:was|has been) \w{3,12}|bounced|undeliverable|mailbox full|no space left|(?:booking|reservation|appointment|order|status|settings?|record|account|subscription)[^.;]{0,40} unchanged|no changes (?:were|was|made)|try again|quota|rate.?limit(?:ed)?|busy|occupied|offline|stuck|stalled|jammed?|disconnected|no (?:[a-z-]{2,20} ){0,2}(?:available|answer|response|reply|route|space|stock|seats?|rooms?|drivers?|funds|match(?:es|ing)?|coverage|permission|access|signal|connection|device|tables?|slots?|number|address|phone|e-?mail|capacity)|(?:limit|maximum|quota|cap) (?:is |was |has been )?(?:reached|hit)|(?:disk|storage|inbox|mailbox|queue|tray|bin|tank|memory) (?:is )?full|fully booked|booked out|sold out|(?:already|currently|is|slot|seat|name|room|time|table) (?:taken|occupied|booked|in use|reserved|locked|closed)|(?:door|lid|cover|drawer)[ _](?:is )?open|(?:too|out of) (?:large|long|many|late|big|paper|toner|range|memory|credit)|antwortet nicht|konflikt|kein[a-z]{0,2} (?:platz|antwort|verbindung|speicher|empfang|netz|strom)|sin (?:espacio|saldo|conexión|respuesta|stock|plazas|cobertura|disponibilidad)|ocupad[oa]|pas de (?:place|réponse|connexion|réseau|stock)|occupée?|hors ligne|sem (?:espaço|saldo|resposta|conexão|estoque|vagas)|ocupad[oa]|nicht (?:erreichbar|möglich|erlaubt|verfügbar|berechtigt|ausgeführt|gefunden)|abgelehnt|verweigert|gescheitert|abgebrochen|gesperrt|überschritten|ausgebucht|vergriffen|keine berechtigung|no (?:disponible|permitido|autorizado|fue posible|existe|encontrad[oa]|hay (?:sitio|plazas|stock|saldo))|rechazad[oa]|denegad[oa]|insuficientes?|caducad[oa]|agotad[oa]|refusée?|échoué|introuvable|expirée?|insuffisants?|non (?:autorisée?|disponible|trouvée?)|recusad[oa]|negad[oa]|indisponível|não (?:foi possível|autorizado|encontrad[oa])|esgotad[oa]|pas (?:disponible|autorisé|possible)|not (?:found|in service|reached|sent|written|saved|booked|delivered|accepted|met)|(?:card|session|licen[cs]e|token|trial|offer|link|code|password|certificate|subscription|quote) (?:has |is )?(?:expired|ended|inactive)|you have reached|(?:review|approval|captcha|log-?in|authentication|verification|confirmation|code|signature|deposit|password|pin|id|document|consent) (?:is )?(?:required|needed|missing)|(?:please|must) (?:log|sign) in|(?:needs?|requires?|awaiting|waiting for|pending) (?:[a-z]{2,12} ){0,2}(?:approval|review|confirmation|verification|authori[sz]ation|login|action|signature)|could(?: not|n['’]t)|can(?:not|['’]t)|unable to|connection (?:reset|lost|closed|timed)|(?:network|server|system|host|service|site) (?:is )?down|unavailable|maintenance|read-only|unsupported|does(?: not|n['’]t) (?:exist|support|accept|allow)|(?:wrong|incorrect|bad|unknown|invalid) (?:password|pin|code|user|recipient|number|address|format|account)|mismatch|merge conflict|(?:registration|sale|booking|office|shop|restaurant|store|kitchen|pool|account|window|enrol?lment) (?:is |has )?closed|closed (?:for|on|at)|discontinued|outside (?:of )?(?:[a-z]{3,12} ){0,2}(?:hours|area|range|zone)|declined|no[ -]?one (?:answered|available)|(?:voicemail|calendar|schedule|class|course|flight|list) (?:is )?full|(?:spam|fraud|virus|malware) detected|deadline (?:has )?passed|already (?:shipped|delivered|departed|dispatched|redeemed|used|checked in)|past (?:the )?(?:cut-?off|deadline)|in the past|minimum (?:[a-z]{2,10} ){1,2}not|(?:account|user|card|number|profile) (?:is |has been )?(?:suspended|frozen|inactive|disabled)|cancell?ed by (?!user request)|killed|segmentation|exit (?:code|status) [1-9]|broken|dry[ -]run|simulation only|nothing (?:written|changed|sent)|bereits (?:vergeben|belegt|gebucht)|reicht nicht|(?:ist|war|wurde|konnte|kann) (?:[a-zäöüß]{2,12} )?nicht|unbekannt|fehlt|kein (?!fehler|problem)[a-zäöüß]{3,20}|abgelaufen|ausverkauft|zu (?:groß|lang|spät|viele)|vencid[oa]|bloquead[oa]|desconocid[oa]|fuera de|caducad[oa]|ya no|sin (?!error|problem|coste|cargo|cambio|incid)[a-zñ]{4,20}|no (?:enviad|entregad|realizad|guardad|válid)[oa]|bloquée?|dépassée?|indisponible|inconnue?|complète?|périmée?|en panne|hors|fora d[eo]|sem (?!erro|problema|custo)[a-zç]{4,20}|vencid[oa]|inválid[oa])(?![\p{L}\p{N}])|冻结|冲突|售完|售罄|异常|已被|约满|失效|无权|不支持|未能|未通过|足りません|すでに.{1,8}ています|定員|対象外|受付終了|在庫なし|ありません|いません|期限が|权限不足|余额不足|不存在|已满|无效|过期|超出|却下|無効|期限切れ|見つかりません|満席|満室|在庫切れ|残高不足|不可|拒否|拒绝|拒收|驳回|超时|タイムアウト|権限|使用中|オフライン|応答なし|応答がありません|离线|占用|无响应|无人接听|不在线|停机|不足|利用できません/u;
export const MAX_REFUSAL_CHARS = 160;
const MAX_CODE_CHARS = 40;
/** Codes of refusal that have no word of failure. */
const REFUSED_CODE =
  /^(?:do_?not_?honou?r|not_(?!required|needed|applicable|started|set|specified|scheduled)[a-z_]+|requires_[a-z_]+|awaiting_[a-z_]+|needs_[a-z_]+|wait_?list(?:ed)?|on_hold|held|returned|incomplete|past_due|interrupted|disarmed|cancell?ed_by_[a-z_]+|rollback|lista_de_espera|warteliste|[a-z_]+_(?:required|rejected|denied|blocked|expired|full|taken|jam|lost)|rejected_[a-z_]+|no_(?:courier|driver|answer|show)s?|pending_(?:approval|review|confirmation|verification|authori[sz]ation|payment|signature)|unconfirmed|unchanged|no_change|no_?op|ignored|dropped|deferred|postponed|suspended|lapsed|voided|quarantined|nicht_[a-zäöüß_]+|no_(?:enviad|encontrad|autorizad|disponible|realizad)[a-z]*|non_[a-zé]+|não_[a-z]+|unzustellbar|unbekannt[a-z]*|insufficient_[a-z_]+|bounced?|(?:hard_|soft_)?bounce|undeliver[a-z]*|unknown_(?:user|recipient|number)|no_such_[a-z_]+|no_(?:stock|capacity|seats?|funds|match)|out_of_stock|skipped|blocked|mismatch(?:ed)?|空号|拒收|退回|停机|未送达|未找到|宛先不明|不在)$/i;

/** `not_accepted`, `DO_NOT_HONOR`: a status that is a refusal as a whole. */
export const isRefusal = (status: string): boolean =>
  status.length <= MAX_CODE_CHARS && REFUSED_CODE.test(status.trim().replace(/[\s-]+/g, '_'));
/** A line that reports a failure, after others. */
const FAILED_LINE =
  /^\W{0,4}(?:error|fatal|fehler|\w{1,30}error|\w{1,20} err!|err!|!\s\[rejected\])(?:[:\s]|$)/m;
export const NO_FAILURE = /^\W{0,4}0\s|(?:^|\s)0 (?:errors?|failed)|no (?:errors?|failures)/;
export const EMPTY_TEXT =
  /^\W{0,4}(?:(?:found |returned |total:? )?0 (?:rows|results|items|matches|records|件|hits|messages|files|entries|documents)|no (?:results|rows|matches|records|items|data|such|availability|entries)|not found|nothing|empty|none|keine|sin resultados|aucun|0件|なし|无)|\(0 (?:rows|records)\)\W{0,4}$/;
/** How many parts failed and how many went well, as programs print it: "3 failed, 127 passed", "failed: 3". */
const FAILED_PARTS =
  /(?<![\d.,:])(\d{1,7})\s(?:\p{L}{2,12}\s)?(?:failed|failing|failures?|rejected|skipped|bounced|errors?|con errore?s?|fallid[oa]s|fallaron|fehlgeschlagen|fehler|échecs?|erros?|falhas?)(?!\p{L})|(?<!\p{L})(?:failed|failures?|rejected|skipped|bounced|errors?|con error|fallid[oa]s|fehler|fehlgeschlagen|échecs?|erros?|falhas?|失败|失敗)\s?[:=：]?\s?(\d{1,7})(?!\.?\d|\s?\(?(?:already|dupl|exist|unchanged))/gu;
const PASSED_PARTS =
  /(?<![\d.,])0*[1-9]\d{0,6}\s(?:\p{L}{2,12}\s)?(?:passed|passing|succeeded|successful|[a-z]{3,12}ed|sent|ok|[a-zé]{3,12}(?:ados|idos|adas|idas)|gesendet|importiert)(?!\p{L})|(?<!\p{L})(?:[a-z]{3,12}ed|sent|ok|[a-z]{3,12}[ai]d[oa]s|成功)\s?[:=：]?\s?[1-9]/u;
const HAS_FAILED = /fail|reject|skipp|bounc|err|fall|fehl|[ée]chec|falh|失/;
/** "src/a.c:3: error: …": of a log that was read too. */
const COMPILER_ERROR = /\S:\s?(?:fatal )?error(?::| [a-z]{1,3}\d|\[)/;
const NO_EFFECT = /affected|updated|deleted|changed/i;

export const SAYS_SUCCESS =
  /success|succeeded|\bok\b|\bdone\b|\bcreated\b|成功|完了|完成|erfolg|éxito|succès|sucesso/i;

/** "Sent. The link has expired parts": what a text says first counts. */
const opensWell = (text: string, toolWords: readonly string[]): boolean => {
  const head = /^[^.,;:(!]{1,40}/.exec(text)?.[0] ?? '';
  const isDone =
    SAYS_SUCCESS.test(head) ||
    toolWords.some((word) => word.length > 3 && head.includes(`${word.replace(/e$/, '')}ed`));
  return (
    isDone && !/(?<!\p{L})(?:not|no|cannot|never|nicht|already|un[a-z]{4,12})(?!\p{L})|n['’]t/u.test(head)
  );
};

/** Whether a short text says that something was refused, or is not possible. */
export function refuses(text: string, toolWords: readonly string[]): boolean {
  if (text.length > MAX_REFUSAL_CHARS) return false;
  const lower = text.toLowerCase();
  const refusal = REFUSED_TEXT.exec(lower)?.[0];
  const isOwn = toolWords.some((word) => word.length > 3 && refusal?.startsWith(word.slice(0, 5)));
  return refusal !== undefined && !isOwn && !opensWell(lower, toolWords);
}

/** What a call achieved by a text that is its whole result. */
export function textOutcome(text: string, toolWords: readonly string[]): StepEnd {
  const head = text.slice(0, 300).toLowerCase();
  const parts = text.length > 600 ? `${head}\n${text.slice(-300).toLowerCase()}` : text.toLowerCase();
  const failed =
    HAS_FAILED.test(parts) &&
    [...parts.matchAll(FAILED_PARTS)].some((match) => Number(match[1] ?? match[2]) > 0);
  if (failed) return { outcome: PASSED_PARTS.test(parts) ? 'partial' : 'failed' };
  if ((FAILED_TEXT.test(head) || FAILED_LINE.test(head)) && !NO_FAILURE.test(head))
    return { outcome: 'failed' };
  if (COMPILER_ERROR.test(head) && !NO_FAILURE.test(head)) return { outcome: 'failed', isState: true };
  if (refuses(text, toolWords)) return { outcome: 'failed', isState: true };
  if (EMPTY_TEXT.test(head)) return { outcome: 'empty', hadNoEffect: NO_EFFECT.test(head) };
  return { outcome: 'ok' };
}
