import { wordSet } from '../language/index.ts';

/** Keys by which results tell how a call ended, in lower case and without signs. */
const TABLE = {
  state:
    'status state result outcome phase conclusion code statuscode httpstatus delivery estado statut ergebnis resultado esito stato situação situacao zustand état etat 状态 狀態 状況 結果 结果 ステータス',
  error:
    'error err errors errormessage errormessages errordetails errorcode exception fault faultcode faultstring fehler fehlermeldung erreur erro エラー エラー内容 错误 错误信息',
  success:
    'success ok successful succeeded accepted approved allowed granted valid acknowledged confirmed completed executed applied delivered done éxito exito erfolg erfolgreich succès succes réussi sucesso exitoso 成功',
  failed: 'iserror failed failure',
  exit: 'exitcode exitstatus returncode rc',
  message:
    'message messages msg detail details reason reasons title note notes hint cause meldung mensaje mensagem hinweis motivo grund raison motif 消息 信息 提示 メッセージ 理由 原因',
  effect:
    'updated affected modified affectedrows rowsaffected rows rowcount nmodified matchedcount modifiedcount deletedcount updatedcount insertedcount affectedcount matched deleted inserted changed changes count imported sent',
  count: 'total count found hits size totalcount totalresults numresults anzahl results',
  /** How long a call took and what it was asked for: no finding. */
  ofCall:
    'took tookms elapsed duration durationms timems latency query q page limit offset perpage pagesize requestid traceid meta metadata version timestamp',
  payload: 'data result response payload body output',
};
const SETS = new Map(Object.entries(TABLE).map(([kind, keys]) => [kind, new Set(keys.split(' '))]));
/** Whether a key, as {@link bareKey} writes it, is of this kind. */
export const hasKind = (kind: keyof typeof TABLE, key: string): boolean => SETS.get(kind)?.has(key) === true;

/** Tools that may print nothing when they have done what they were to do. */
export const SILENT_TOOLS = wordSet(
  'run exec execute shell bash sh python node code script command terminal git kubectl docker browser chmod chown mkdir touch cp mv ln',
);
/** What was before the call, or around it. */
export const ASIDE =
  /^(?:prev|old|last|before|former|history|log|events?|attempts?|previous|checks?|linked|related)/;

export const bareKey = (key: string): string => key.toLowerCase().replace(/[_-]/g, '');
