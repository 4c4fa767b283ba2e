export type StepOutcome = 'ok' | 'failed' | 'empty' | 'partial';

export interface StepEnd {
  readonly outcome: StepOutcome;
  readonly hadNoEffect?: boolean;
  /** It failed by a status: of a call that reads, that of the thing. */
  readonly isState?: boolean;
}

/** Patterns of texts are of lower case. A failure at the beginning of a text, or said by the common words of programs. */
export const FAILED_TEXT =
  /^\W{0,4}(?:mcp |http |\w{1,30}\s?)?(?:error|err|exception|traceback|fatal|fehler|erreur|erro|failed|failure|unauthorized|forbidden|(?:access |permission |policy |request )?denied|fail\b|timeout|request timed out|timed out|invalid|validation failed|unknown (?:action|tool|command)|échec|falló|失败|失敗|错误|錯誤|エラー)|^\W{0,4}(?:http\/?\d?\.?\d?\s?)?[45]\d\d\b|\b(?:not (?:be )?(?:complete|process)ed|konnte nicht|no se pudo|could not be|cannot be|n'a pas pu|impossible de|timed out|tiempo de espera|zeitüberschreitung|(?:operation )?not permitted|cannot (?:remove|open|create|access|stat|read|write)|connection refused|econn\w{1,20}|enoent|eacces|[45]\d\d (?:bad (?:gateway|request)|internal server error|not found|forbidden|service unavailable|unauthorized|gateway time-?out|too many requests))\b|できません|失敗|失败/;
/** What a short text without more says of a call that did not go through. */
const REFUSED =
  /\b(?:blocked|aborted|exceeded|unprocessable|unreachable|refused|rejected|forbidden|unauthori[sz]ed|(?:not|un)(?: be)? (?:reachable|permitted|allowed|authori[sz]ed|possible|available|successful|changed|executed|performed|completed|processed)|nothing (?:was|has been) \w{3,12}|bounced|undeliverable|mailbox full|no space left|(?:booking|reservation|appointment|order|status|settings?|record|account|subscription)[^.;]{0,40} unchanged|no changes (?:were|was|made)|try again|quota|rate.?limit(?:ed)?|nicht (?:erreichbar|möglich|erlaubt|verfügbar|berechtigt|ausgeführt|gefunden)|abgelehnt|verweigert|gescheitert|abgebrochen|gesperrt|überschritten|ausgebucht|vergriffen|keine berechtigung|no (?:disponible|permitido|autorizado|fue posible|existe|encontrad[oa]|hay (?:sitio|plazas|stock|saldo))|rechazad[oa]|denegad[oa]|insuficientes?|caducad[oa]|agotad[oa]|refusée?|échoué|introuvable|expirée?|insuffisants?|non (?:autorisée?|disponible|trouvée?)|recusad[oa]|negad[oa]|indisponível|não (?:foi possível|autorizado|encontrad[oa])|esgotad[oa]|pas (?:disponible|autorisé|possible))(?![\p{L}\p{N}])|权限不足|余额不足|不存在|已满|无效|过期|超出|却下|無効|期限切れ|見つかりません|満席|満室|在庫切れ|残高不足|不可|拒否|拒绝|拒收|驳回|超时|タイムアウト|権限|利用できません/u;
export const MAX_REFUSAL_CHARS = 160;
/** A line that reports a failure, after others. */
const FAILED_LINE =
  /^\W{0,4}(?:error|fatal|fehler|\w{1,30}error|\w{1,20} err!|err!|!\s\[rejected\])(?:[:\s]|$)/m;
const NO_FAILURE = /^\W{0,4}0\s|(?:^|\s)0 (?:errors?|failed)|no (?:errors?|failures)/;
export const EMPTY_TEXT =
  /^\W{0,4}(?:(?:found |returned |total:? )?0 (?:rows|results|items|matches|records|件|hits|messages|files|entries|documents)|no (?:results|rows|matches|records|items|data|such|availability|entries)|not found|nothing|empty|none|keine|sin resultados|aucun|0件|なし|无)|\(0 (?:rows|records)\)\W{0,4}$/;
/** How many parts failed and how many went well, as programs print it: "3 failed, 127 passed", "failed: 3". */
const FAILED_PARTS =
  /(?<![\d.,])(\d{1,7})\s(?:tests?\s|checks?\s)?(?:failed|failing|failures?)\b|\b(?:failed|failures)\s?[:=]\s?(\d{1,7})(?![\d.])/g;
const PASSED_PARTS =
  /(?<![\d.,])0*[1-9]\d{0,6}\s(?:tests?\s|checks?\s)?(?:passed|passing|succeeded|successful)\b/;
const NO_EFFECT = /affected|updated|deleted|changed/i;

export const SAYS_SUCCESS =
  /success|succeeded|\bok\b|\bdone\b|\bcreated\b|成功|完了|完成|erfolg|éxito|succès|sucesso/i;

/** What a call achieved by a text that is its whole result. */
export function textOutcome(text: string, toolWords: readonly string[]): StepEnd {
  const head = text.slice(0, 300).toLowerCase();
  const parts = text.length > 600 ? `${head}\n${text.slice(-300).toLowerCase()}` : text.toLowerCase();
  const failed =
    parts.includes('fail') &&
    [...parts.matchAll(FAILED_PARTS)].some((match) => Number(match[1] ?? match[2]) > 0);
  if (failed) return { outcome: PASSED_PARTS.test(parts) ? 'partial' : 'failed' };
  if ((FAILED_TEXT.test(head) || FAILED_LINE.test(head)) && !NO_FAILURE.test(head))
    return { outcome: 'failed' };
  const refusal = text.length <= MAX_REFUSAL_CHARS ? REFUSED.exec(parts)?.[0] : undefined;
  if (
    refusal !== undefined &&
    !toolWords.some((word) => word.length > 3 && refusal.startsWith(word.slice(0, 5)))
  )
    return { outcome: 'failed', isState: true };
  if (EMPTY_TEXT.test(head)) return { outcome: 'empty', hadNoEffect: NO_EFFECT.test(head) };
  return { outcome: 'ok' };
}
