import type { Word } from './types.ts';

/**
 * The words by which answers claim, deny and plan, and by which tools report success and failure. A stem matches the
 * beginning of a word; stems of languages that are written without spaces match anywhere in the text.
 */

const NO_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** Whether the text has letters of a language that is written without spaces. */
export const hasUnspacedScript = (text: string): boolean => NO_SPACES.test(text);

const UNREAD =
  /[\p{Script=Hangul}\p{Script=Thai}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Greek}\p{Script=Devanagari}]/u;

/** Whether the text has letters of a language whose words for failure and absence are not known here. */
export const hasUnreadScript = (text: string): boolean => UNREAD.test(text);

/** Words that begin like an act and are none. */
const OTHER_WORDS: ReadonlySet<string> = new Set(
  'address addresses addressed additional additionally addition important importante importantly importance movie movies sentence sentences edition editor poster'.split(
    ' ',
  ),
);

/** Groups of stems, found by the first two letters of a word. */
class StemGroups {
  readonly #byStart = new Map<string, (readonly [stem: string, group: string])[]>();
  readonly #anywhere: (readonly [stem: string, group: string])[] = [];

  constructor(groups: Readonly<Record<string, string>>) {
    for (const [group, stems] of Object.entries(groups))
      for (const stem of stems.split(/\s+/)) {
        const start = stem.slice(0, 2);
        const others = NO_SPACES.test(stem) ? this.#anywhere : this.#byStart.get(start);
        if (others === undefined) this.#byStart.set(start, [[stem, group]]);
        else others.push([stem, group]);
      }
  }

  begin(word: string): boolean {
    return this.#byStart.get(word.slice(0, 2))?.some(([stem]) => word.startsWith(stem)) === true;
  }

  in(words: readonly string[], text: string): Set<string> {
    const groups = new Set<string>();
    for (const word of words) {
      if (OTHER_WORDS.has(word)) continue;
      for (const [stem, group] of this.#byStart.get(word.slice(0, 2)) ?? [])
        if (word.startsWith(stem)) groups.add(group);
    }
    if (NO_SPACES.test(text))
      for (const [stem, group] of this.#anywhere) if (text.includes(stem)) groups.add(group);
    return groups;
  }
}

export class Stems {
  readonly #stems: StemGroups;

  constructor(stems: string) {
    this.#stems = new StemGroups({ all: stems });
  }

  begin(word: string): boolean {
    return this.#stems.begin(word);
  }

  occurIn(words: readonly string[], text: string): boolean {
    return words.some((word) => this.begin(word)) || this.#stems.in([], text).size > 0;
  }
}

/** Families of acts that change something. A claim and a tool meet when they share a family. */
const ACTS = new StemGroups({
  cancel:
    'cancel abort annul storn absag cancela annulé 取消 キャンセル storno gekündig anulad dado_de_baja résilié',
  update:
    'updat modif chang edit adjust replac renam switch correct upgrad downgrad patch turn toggl assign reassign reschedul aktualisier geändert actualiz cambia geänder umgestell umgeänder cambié 更新 変更 修改 改为 改成 改到 改至 angepass umbenann zugewies ersetz gesenk erhöh verlänger gekürz cambiad modificad ajustad ampliad asignad alterad alterei mudei atribuíd modifié changé baissé augmenté prolongé attribué 设置 设为 調整 调整 调到 設定 切り替え 替换 改好',
  move: 'mov reschedul verschob movid déplac 移动 移動 verleg movid déplacé remarcad reagendad 移到 挪到 移し',
  exchange: 'exchang swap umtausch umgetauscht intercambi échang 交換 换货 getausch umgestell',
  return: 'return retourn zurückgeschick devolv devuelt 返品 退货',
  pay: 'pay paid charg refund reimburs transfer überw bezahl erstatt pagad pago pagar reembols payé rembours transfér viré virement 支付 退款 返金 送金 支払 转账 beglich angewies réglé compensad abonad 付款 缴费 充值 汇款 入金 振込 振り込み 精算',
  book: 'book reserv schedul gebucht buch bestell reserva réserv agendad agendei marcad marquei ordered reordered nachbestell abbestell umgebuch rebook 预订 预定 予約 订好 订了 订到 vorgemerk encargad apuntad comprad compré inscrit commandé acheté programmé planifié encomendad 安排 预约 下单 订购 手配 注文 発注 押さえ 購入 购买',
  send: 'send sent email mail notif inform invit paged paging forward shar post publish messag verschick versand gesend versend veröffentlich envi publicad envoy enviar enví 发送 发布 送信 送り 送付 投稿 公開 已发 geschick abgeschick weitergeleit beantwort geteil eingelad informier benachrichtig verständig mitgeteil avisad avisé compartid invitad notificad reenviad respondid partagé invité prévenu averti transmis répondu encaminhad compartilhad convidad avisei 通知 邀请 转发 回复 分享 发出 寄出 転送 返信 共有 招待 連絡 知らせ',
  create:
    'creat add insert regist record logged copied sav wrote writ rewrit rewrot upload import generat erstell angeleg anleg hinzugefüg eingetrag gespeicher hochgelad importier cread crear añad agreg guard subid subir créé créer ajout enregistr 创建 添加 上传 保存 导入 新建 作成 追加 登録 アップロード インポート erfass notier vermerk hinterleg abgeleg eingereich gemeld eröffne registrad anotad anoté solicitad presentad déposé noté criad criei adicionad registrei 记录 登记 申请 录入 記録 保存しま 申請 提出 申し込 入れました',
  delete:
    'delet remov eras purg prun drop clear clean gelösch lösch entfern borra elimin suppr apag 删除 清除 削除 消去 gestrich excluíd removid supprimé 清空 移除 消しました',
  run: 'deploy push merg install restart launch execut migrat backup archiv enabl disabl activ deactiv reset restor suspend resum freez froz lock unlock revok renew subscrib unsubscrib enrol escalat block unblock revert terminat neugestart installier desplega desplieg reinici redémarr 部署 重启 安装 デプロイ 再起動 迁移 gestart gestopp freigegeb gesperr entsperr ausgeschalt eingeschalt heruntergefahr aktivier deaktivier activad desactivad bloquead encendid apagad renovad ativad desativad ligad desligad activé désactivé bloqué débloqué allumé éteint renouvelé 打开 关闭 开启 关掉 冻结 挂失 合并 停止 起動 解除 延長 有効 無効に ロック つけました',
});

/** The families of acts that the words or the text name. */
export const actsIn = (words: readonly string[], text: string): Set<string> => ACTS.in(words, text);

/** Acts that do not say what was done ("processed"): they meet every call that changes something. */
export const PLAIN_ACTS = new Stems(
  'process submit initiat complet request finish apply applie issu confirm approv handl perform done went verarbeit abgeschlossen bestätig completad procesad realiz hecho effectu traité terminé issued reissued filed lodged started opened raised commented replied lowered increased extended waived credited split placed swapped taken launched stopped triggered queued granted emitid expedid ausgestellt 完成 处理 提交 完了 処理 済',
);

/** What a speaker does in words or in thought: it needs no tool. */
export const NO_ACTS = new Stems(
  'list summar explain describ outlin mention includ provid giv shar told said answer respond clarif note notic understood understand know known see saw seen hear heard receiv gather got get had been decid consider assum suggest recommend propos ask want need plan try tried attempt hope look learn believ thought think highlight mark detail translat calculat comput comput compar analy break broke summed wait stop confirm offer happen occur chang_ refer quot us appear seem work run_ based fail',
);

export const shares = (left: ReadonlySet<string>, right: ReadonlySet<string>): boolean => {
  for (const item of left) if (right.has(item)) return true;
  return false;
};

/** Acts of looking something up. */
export const LOOKUPS = new Stems(
  'found find locat verif retriev check look identif search fetch pull review access ping quer',
);

const READS = new Set(
  'get list find search lookup look read fetch query check describe show view calculate calc think plan prepare validate verify estimate preview count grep browse retrieve inspect weather status health track current stock saldo estado buscar prüfe pruefe obtener consultar leer lire chercher recipe what who tell user info details resolve compare predict random dice roll discover ask help compute convert ping summarize explain translate is has web suggest simulate cotar cotizar suche suchen zeige zeigen finde liste lies hole abrufen consulta lista listar ver mostrar busca cherche lire afficher trouver rechercher voir pesquisar procurar ler obter trova cerca mostra locate filter poll tail diff scan trace peek measure diagnose diagnosis diagnostic diagnostico pruefen prüfen überprüfen liste whois lookup revisar verificar comprobar vérifier'.split(
    ' ',
  ),
);

/** Things to be looked up, where they are the whole name of a tool or begin or end it: `solde`, `hotel_policy`. */
const LOOKED_AT = new Set(
  'policy terms checksum coverage headlines balance solde horarios horaires availability freebusy metrics history forecast catalog disponibilidad verfügbarkeit wetter rechnung facture factura inventory rules prices rates bestand lagerbestand inventario estoque sensor presence position'.split(
    ' ',
  ),
);

/** "payments.list", "mail__search_messages": what stands after a namespace. */
const OWN_NAME = /(?:\.|\/|:|__|-)([a-z]{3,12})(?![a-z])[A-Za-z0-9_]{0,60}$/;
/** The same, of which the first word may be a verb: `seat_map`, `card_details`. */
const LOOKED_AT_LAST = new Set(
  'map options checksum diff coverage details stats statistics headlines distance directions expiry'.split(
    ' ',
  ),
);
const READS_IN_HAN =
  /^(?:查|获取|獲取|搜|列出|检索|读取|检查|取得)|(?:検索|確認|取得|照会|一覧|参照|表示|查询|列表|詳細|详情)$/;
/** Names of many things, which alone name no act: `bookings`, `bestellungen`. */
const MANY = /(?:[a-z]{2}[a-rt-z]s|ungen|ionen|ciones|ções)$/;

/** Whether a tool with this name reads only, so far as its name tells. */
export const readsOnly = (nameWords: readonly string[], acts: ReadonlySet<string>, name = ''): boolean => {
  if (READS_IN_HAN.test(name)) return true;
  const own = OWN_NAME.exec(name.slice(-80))?.[1];
  if (own !== undefined && READS.has(own)) return true;
  if (nameWords.length === 1 && MANY.test(nameWords[0] as string)) return true;
  const first = nameWords.find((word) => word !== 'mcp' && word !== 'tool' && word !== 'api') ?? '';
  const last = nameWords.at(-1) ?? '';
  if (
    acts.size === 0 &&
    (LOOKED_AT.has(first) || LOOKED_AT.has(last) || (nameWords.length > 1 && LOOKED_AT_LAST.has(last)))
  )
    return true;
  if (first === 'check' && /^(?:in|out)$/.test(nameWords[1] ?? '')) return false;
  return (
    READS.has(first) ||
    (acts.size === 0 && !PLAIN_ACTS.begin(first) && nameWords.some((word) => READS.has(word)))
  );
};

/** Words of a failure in a status: `declined`, `refusé`, `失败`. */
const FAILED =
  'fail error exception unreach denied declin reject refus forbidden unauthori invalid timeout timed unavailab jam stuck soldout ausgebucht agotad conflict abort fehler fehlgeschlagen abgelehnt ungültig fall falló rechaz denegad échec échou erreur erro falh gescheitert verweiger abgebrochen überschritt zurückgewies ungedeckt inválid insuficient caduc expirad vencid bloqueado recusad negad indispon introuvable invalide interdit insuffisan expiré 却下 無効 期限切れ 見つかりません 在庫切れ 不可 无效 已过期 超出 上限 禁止 冲突 不存在 未通过 未找到 失败 失敗 错误 錯誤 エラー 拒绝 拒否 驳回 満席 満室 已满 售罄 できません 不足 超时 タイムアウト';
/** Codes are often written without accents: `ECHEC_PAIEMENT`. */
const withoutAccents = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036F]/g, '')
    .normalize('NFC');
export const FAILURES = new Stems(`${FAILED} ${withoutAccents(FAILED)}`);

const NAME_BREAKS = /[^\p{L}\p{N}]+/u;

/** The words of a tool's name: `cancelPendingOrder` and `cancel_pending_order` have three. */
export const wordsOfName = (name: string): readonly string[] =>
  name
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(NAME_BREAKS)
    .filter((word) => word !== '');

const WORD = /[\p{L}\p{N}]+(?:['’]\p{L}+)*/gu;
/** The same for texts without other letters, at a third of the time. */
const LATIN_WORD = /[A-Za-z0-9]+(?:['’][A-Za-z]+)*/g;
const IS_LATIN = /^[\n -~’–—]*$/;

/** The words of a text in lower case, contractions whole, with their place. */
export function wordsIn(text: string): readonly Word[] {
  const words: Word[] = [];
  for (const match of text.matchAll(IS_LATIN.test(text) ? LATIN_WORD : WORD))
    words.push({
      text: match[0].toLowerCase().replace('’', "'"),
      start: match.index,
      end: match.index + match[0].length,
    });
  return words;
}
