/** Keys by which results tell how a call ended, in lower case and without signs. */
const keys = (list: string): ReadonlySet<string> => new Set(list.split(' '));
export const STATE_KEYS = keys(
  'status state result outcome phase conclusion code statuscode httpstatus delivery estado statut ergebnis resultado esito stato situação situacao zustand état etat 状态 狀態 状況 結果 结果 ステータス',
);
export const ERROR_KEYS = keys(
  'error err errors errormessage errormessages errordetails errorcode exception fault faultcode faultstring fehler fehlermeldung erreur erro エラー エラー内容 错误 错误信息',
);
export const SUCCESS_KEYS = keys(
  'success ok successful succeeded accepted approved allowed granted valid acknowledged confirmed completed executed applied delivered done éxito exito erfolg erfolgreich succès succes réussi sucesso exitoso 成功',
);
export const FAILED_KEYS = keys('iserror failed failure');
export const EXIT_KEYS = keys('exitcode exitstatus returncode rc');
export const MESSAGE_KEYS = keys(
  'message messages msg detail details reason reasons title note notes hint cause meldung mensaje mensagem hinweis motivo grund raison motif 消息 信息 提示 メッセージ 理由 原因',
);
export const EFFECT_KEYS = keys(
  'updated affected modified affectedrows rowsaffected rows rowcount nmodified matchedcount modifiedcount deletedcount updatedcount insertedcount affectedcount matched deleted inserted changed changes count imported sent',
);
export const COUNT_KEYS = keys(
  'total count found hits size totalcount totalresults numresults anzahl results',
);
/** How long a call took and what it was asked for: no finding. */
export const OF_CALL = keys(
  'took tookms elapsed duration durationms timems latency query q page limit offset perpage pagesize requestid traceid meta metadata version timestamp',
);
export const PAYLOADS = keys('data result response payload body output');
export const SILENT_TOOLS = keys(
  'run exec execute shell bash sh python node code script command terminal git kubectl docker browser chmod chown mkdir touch cp mv ln',
);
/** What was before the call, or around it. */
export const ASIDE =
  /^(?:prev|old|last|before|former|history|log|events?|attempts?|previous|checks?|linked|related)/;

export const bareKey = (key: string): string => key.toLowerCase().replace(/[_-]/g, '');
