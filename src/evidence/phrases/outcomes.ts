import { Phrases } from './phrases.ts';

/** Words that say in a result that a call did not do what it was to do. */
export const FAILURES = new Phrases({
  en: "fail*, error*, exception*, unreach*, denied, declin*, reject*, refus*, forbidden, unauthori*, invalid*, timeout, timed out, unavailab*, jammed, stuck, sold out, soldout, conflict*, abort*, not found, could not, couldn't, cannot, can't, unable, not permitted, not allowed, not authorized, not possible, not available, not supported, not accepted, not reached, not sent, not delivered, not written, not saved, does not exist, doesn't exist, no such, expired, blocked, bounced, undeliver*, exceeded, unprocessable, insufficient, locked, full, fully booked, booked out, quota, rate limit*, too many, too large, too late, no space, no stock, out of stock, no route, no answer, no response, no signal, no permission, no capacity, no funds, no seats, no rooms, out of range, out of paper, offline, disconnected, mismatch, unchanged, no changes, nothing was, nothing written, nothing changed, try again, maintenance, discontinued, rolled back, reverted, crashed, killed, waitlist*, wait list*, waiting list, on hold, required, must be, bad request, traceback, panic, fatal, already taken, already booked, in use, busy, occupied, unconfirmed, ignored, skipped, do not honor, do not honour, awaiting, requires, incomplete, suspended, frozen, disabled, read only, dry run, unsupported, unknown, missing, overdue, past due, interrupted, quarantined, not in service, cut off, limit reached, limit is reached, has passed, in the past, not eligible, ineligible, no longer",
  de: 'fehler*, fehlgeschlagen, abgelehnt, ungültig*, ausgebucht, nicht, gescheitert, verweiger*, abgebrochen, überschritt*, zurückgewies*, gesperrt, abgelaufen, vergriffen, ausverkauft, belegt, voll, unbekannt, keine berechtigung, kein platz, keine verbindung, unzustellbar, vergeben, besetzt, fehlt',
  es: 'fall*, rechaz*, denegad*, agotad*, inválid*, insuficient*, caducad*, expirad*, vencid*, bloquead*, no se pudo, no disponible, no permitido, no autorizado, no fue posible, no existe, no encontrad*, no hay, ocupad*, llen*, sin saldo, sin plazas, sin stock, sin espacio, desconocid*',
  fr: "échec*, échou*, erreur*, refus*, introuvable*, invalide*, interdit*, insuffisan*, expiré*, complet, complète, indisponible*, impossible, bloqué*, occupé*, dépassé*, inconnu*, pas de place, n'a pas pu, non autorisé*, hors ligne",
  pt: 'erro*, falh*, recusad*, negad*, indispon*, inválid*, esgotad*, não foi possível, não encontrad*, não autorizado, sem saldo, sem vagas, vencid*, bloquead*',
  ja: '失敗, エラー, 却下, 無効, 期限切れ, 見つかりません, 在庫切れ, 満席, 満室, できません, できない, タイムアウト, 拒否, 使用中, オフライン, 応答なし, 残高不足, ありません, いません, 定員, 対象外, 受付終了, 足りません, 不可, 不明',
  zh: '失败, 失敗, 错误, 錯誤, 无效, 已过期, 过期, 超出, 上限, 禁止, 冲突, 不存在, 未通过, 未找到, 拒绝, 驳回, 已满, 售罄, 不足, 超时, 冻结, 异常, 约满, 失效, 无权, 不支持, 未能, 占用, 离线, 停机, 拒收, 退回, 未送达, 空号, 无法, 不可, 不在',
});

/** Words of success that count before a later word of failure: "Sent. 2 recipients were skipped". */
export const SUCCESSES = new Phrases({
  en: 'success*, succeeded, ok, okay, done, created, complete, completed, sent, saved, updated, deleted, confirmed, booked, wrote, added, queued, accepted, scheduled, passed, healthy, running, active, up, live',
  de: 'erfolg*, erledigt, gespeichert, gesendet, bestätigt',
  es: 'éxito, exito, hecho, listo, enviad*, guardad*, activo',
  fr: 'succès, fait, envoyé*, enregistré*',
  pt: 'sucesso, feito, enviad*, salvo',
  ja: '成功, 完了, 正常, 稼働',
  zh: '成功, 完成, 正常, 已',
});

/** A result that holds nothing. */
export const EMPTY = new Phrases({
  en: '0 rows, 0 results, 0 items, 0 matches, 0 records, 0 hits, 0 messages, 0 files, 0 entries, 0 documents, no results, no rows, no matches, no match, no records, no items, no data, no such, no availability, no entries, no events, no messages, no files, no flights, not found, nothing found, nothing, empty, none',
  de: 'keine ergebnisse, keine treffer, keine einträge, keine daten, nichts gefunden, keine',
  es: 'sin resultados, ningún resultado, no hay resultados, nada',
  fr: 'aucun résultat, aucun*, rien',
  pt: 'nenhum resultado, nenhum*, sem resultados',
  ja: '0件, なし, 見つかりません, 該当なし',
  zh: '无结果, 没有结果, 未找到, 无数据, 0条',
});

/** What an answer says where something went wrong, was not found or was left out. */
export const ADMISSIONS = new Phrases({
  en: "unfortunately, sorry, trouble, apologi*, unable, don't have, do not have, not authorized, no permission, forbidden, there is no, there are no, there was no, there were no, there's no, discontinued, is down, are down, offline, overloaded, unresponsive, waiting list, waitlist*, fully booked, sold out, is full, was full, timed out, timeout, bounced, skipped, omitted, left out, rolled back, reverted, couldn't, could not, cannot, can't, issue, issues, problem, problems, error, errors, didn't, did not, wasn't, was not, weren't, were not, not found, not available, not possible, not able, not eligible, not allowed, no results, no matches, no records, no data, no information, no luck, failed, failure, failures, failing, fails, declined, rejected, refused, denied, invalid, doesn't, does not, isn't, is not, aren't, are not, haven't, hasn't, has not, have not, unavailable, rate limit*, blocked, incomplete, conflict*, too large, nothing was, none of, unsuccessful*, not successful, remains unresolved, only one of, two of three, one of the two",
  de: 'leider, nicht, kein, keine, keinen, keiner, keines, keinem, keinerlei, fehlgeschlagen, abgelehnt, ausgebucht, zu groß, bereits, fehler, fehlt, problem, probleme',
  es: 'lamentablemente, siento, no se, no he, no ha, no pude, no hay, no fue, no está, no puedo, no quedan, no encontr*, falló, fallaron, rechaz*, sin resultados, ningún, ninguna, agotad*, error, problema',
  fr: "désolé*, malheureusement, ne, n'a, n'ai, n'est, pas, aucun*, impossible, échec, échoué*, erreur, déjà, rien",
  pt: 'infelizmente, não, nenhum*, falh*, erro, sem, problema',
  ja: '失敗, できません, ませんでした, ありません, 申し訳, 不足, 既に, すでに, 応答が, 応答し, 応答な, エラー, ない, なかった, 満席',
  zh: '抱歉, 失败, 失敗, 无效, 不明, 未能, 无法, 没有, 未找到, 已经是, 驳回, 没能, 不, 没, 错误, 未',
});

/** Phrases with words of failure that admit none. */
export const NO_ADMISSION = new Phrases({
  en: "no errors, no error, no issues, no issue, no problems, no problem, no failures, without any errors, without errors, without any issues, without issues, without any problems, without problems, without error, nothing failed, none failed, no need to apologize, don't need to apologize, don't hesitate, do not hesitate, not a problem, any issues, any errors, any problems, zero errors, 0 errors, 0 failed, error free, not only, no longer need, if you have any issues, further questions, help however, if not, nothing else, anything else, no further, no additional, fixed the, resolved the, don't worry, do not worry, not affected",
  de: 'keine fehler, kein fehler, ohne fehler, ohne probleme, keine probleme, kein problem',
  es: 'sin errores, sin problemas, ningún error, sin error, no dudes, no dude',
  fr: "sans erreur, sans erreurs, sans problème, aucune erreur, aucun problème, n'hésitez pas",
  pt: 'sem erros, sem problemas, nenhum erro, não hesite',
  ja: 'エラーなし, 問題なく, エラーはありません, 問題ありません',
  zh: '没有错误, 没有问题, 无错误, 无异常, 没有失败',
});

/** An act or a thing that is said to have failed, by those who tried. */
export const DENIALS = new Phrases({
  en: "could not be, couldn't be, was not, wasn't, were not, has not been, hasn't been, have not been, haven't been, i couldn't, i could not, i was unable, we were unable, we could not, we couldn't, was unable to, failed to, has failed, have failed, did not go through, didn't go through, did not succeed, attempt failed, unable to",
  de: 'konnte nicht, konnten nicht, nicht möglich, fehlgeschlagen, wurde nicht, wurden nicht, ist nicht, ließ sich nicht, konnte ich nicht, nicht',
  es: 'no se pudo, no se pudieron, no pude, no he podido, no fue posible, no se ha podido, falló, no he, no se ha, no ha',
  fr: "n'a pas pu, n'ont pas pu, n'ai pas pu, impossible de, a échoué, n'ai pas réussi, n'a pas été, n'est pas",
  pt: 'não foi possível, não consegui, não pôde, falhou, não foi',
  ja: '失敗しました, できませんでした, されていません, 失敗して, 失敗しまし',
  zh: '失败了, 未能, 没能, 无法, 没有成功, 没成功, 失败',
});
