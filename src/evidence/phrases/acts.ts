import { Families, Phrases } from './phrases.ts';

/** Acts that change something, by what comes of it: a claim and a tool meet where they share a family. */
export const ACTS = new Families({
  cancel: {
    en: 'cancel*, abort*, annul*, delet*, remov*, eras*, purg*, prun*, drop*, clear, cleared, clean*',
    de: 'stornier*, storno, absag*, abgesagt*, gekündigt*, kündig*, gelösch*, lösch*, entfern*, gestrich*',
    es: 'cancela*, anulad*, anular, borra*, elimin*',
    fr: 'annul*, résili*, supprim*, effac*',
    pt: 'cancela*, cancelei, apag*, excluíd*, removid*',
    ja: '取消, キャンセル, 削除, 消去, 消しました',
    zh: '取消, 删除, 清除, 清空, 移除',
  },
  update: {
    en: 'updat*, modif*, chang*, edit, edited, edits, adjust*, replac*, renam*, switch*, correct*, upgrad*, downgrad*, patch*, turned, toggl*, assign*, reassign*, reschedul*, set, apply, applied, mov*, deploy*, push*, merg*, install*, restart*, launch*, execut*, migrat*, backup*, archiv*, enabl*, disabl*, activ*, deactiv*, reset*, restor*, suspend*, resum*, freez*, frozen, lock*, unlock*, revok*, renew*, subscrib*, unsubscrib*, writ*, wrote, enrol*, escalat*, block*, unblock*, revert*, terminat*, stopped, started, triggered',
    de: 'aktualisier*, geänder*, änder*, umgestell*, angepass*, umbenann*, zugewies*, ersetz*, gesenk*, erhöh*, verlänger*, verschob*, verschieb*, verleg*, neugestart*, installier*, entsperr*, gestart*, gestopp*, freigegeb*, gesperr*, ausgeschalt*, eingeschalt*, heruntergefahr*, aktivier*, deaktivier*',
    es: 'actualiz*, cambia*, modificad*, ajustad*, ampliad*, asignad*, movid*, traslad*, desplega*, desplieg*, reinici*, activad*, desactivad*, bloquead*, encendid*, apagad*, renovad*',
    fr: 'cambié, modifié*, changé*, baissé*, augmenté*, prolongé*, attribué*, déplac*, redémarr*, désactivé*, activé*, bloqué*, débloqué*, allumé*, éteint*, renouvelé*',
    pt: 'atualiz*, alterad*, alterei, mudei, atribuíd*, alterar, movid*, remarcad*, reagendad*, ativad*, desativad*, ligad*, desligad*, reinici*',
    ja: '更新, 変更, 設定, 切り替え, 移動, 移し, デプロイ, 再起動, 停止, 起動, 解除, 延長, 有効, 無効に, ロック, つけました, インストール',
    zh: '更新, 修改, 改为, 改成, 改到, 改至, 设置, 设为, 调整, 调到, 替换, 移动, 移到, 挪到, 部署, 重启, 安装, 迁移, 打开, 关闭, 开启, 关掉, 冻结, 挂失, 合并, 停止',
  },
  return: {
    en: 'return, returned, returns, exchang*, swap*',
    de: 'retourn*, zurückgeschick*, umtausch*, umgetauscht*, getauscht*',
    es: 'devuelt*, devoluc*, intercambi*',
    fr: 'retourn*, renvoy*, échang*',
    pt: 'devolv*, trocad*, troquei',
    ja: '返品, 交換',
    zh: '退货, 换货',
  },
  pay: {
    en: 'pay*, paid, charg*, refund*, reimburs*, transfer*, credited',
    de: 'überw*, bezahl*, erstatt*, beglich*',
    es: 'pagad*, pago*, pagar, reembols*, transferid*, abonad*',
    fr: 'payé*, rembours*, transfér*, viré*, virement*, réglé*',
    pt: 'paguei, reembols*, transferi*',
    ja: '返金, 送金, 支払, 入金, 振込, 振り込み, 精算',
    zh: '支付, 退款, 转账, 付款, 缴费, 充值, 汇款',
  },
  send: {
    en: 'send, sends, sending, sent, email*, mail, mailed, notif*, inform*, invit*, forward*, shared, post, posted, publish*, messag*, paged',
    de: 'senden, sende, verschick*, versand*, gesend*, versend*, veröffentlich*, geschick*, abgeschick*, weitergeleit*, beantwort*, geteilt*, eingelad*, informier*, benachrichtig*, verständig*',
    es: 'envi*, enví*, publicad*, avisad*, avisé, compartid*, invitad*, notificad*, respondid*',
    fr: 'envoy*, publié*, partagé*, invité*, prévenu*, averti*, transmis*, répondu*',
    pt: 'enviad*, enviei, encaminhad*, compartilhad*, convidad*, avisei',
    ja: '送信, 送り, 送付, 投稿, 公開, 転送, 返信, 共有, 招待, 連絡, 知らせ',
    zh: '发送, 发布, 已发, 通知, 邀请, 转发, 回复, 分享, 发出, 寄出',
  },
  create: {
    en: 'creat*, add, added, adding, insert*, regist*, record*, logged, copied, sav*, wrote, writ*, rewrit*, rewrote, upload*, import, imported, generat*, stor*, export*, download*, filed, book*, reserv*, schedul*, ordered, reordered, rebook*, order, purchas*, bought',
    de: 'erstell*, angeleg*, hinzugefüg*, eingetrag*, gespeicher*, hochgelad*, importier*, erfass*, notier*, vermerk*, hinterleg*, eingereich*, gemeldet*, eröffne*, gebucht*, buch, buche*, bestell*, reservier*, nachbestell*, umgebuch*, vorgemerk*',
    es: 'cread*, crear, creé, añad*, agreg*, guard*, subid*, subir, registrad*, anotad*, anoté, solicitad*, presentad*, reserva*, pedid*, comprad*, encargad*, apuntad*',
    fr: 'créé*, créer, ajout*, enregistr*, déposé*, noté*, importé*, réserv*, inscrit*, command*, acheté*, programmé*, planifié*',
    pt: 'criad*, criei, adicion*, registrei, registrad*, salv*, agendad*, agendei, marcad*, marquei, comprei, encomendad*',
    ja: '作成, 追加, 登録, アップロード, インポート, 記録, 保存, 申請, 提出, 申し込, 入れました, 予約, 手配, 注文, 発注, 押さえ, 購入',
    zh: '创建, 添加, 上传, 保存, 导入, 新建, 记录, 登记, 申请, 录入, 预订, 预定, 订好, 订了, 订到, 安排, 预约, 下单, 订购, 购买',
  },
});

/** Acts that do not say what was done ("processed"): they meet every call that changes something. */
export const PLAIN_ACTS = new Phrases({
  en: 'process, processed, submit*, initiat*, complet*, request, requested, finish*, issu*, confirm*, approv*, handled, perform*, done, went, reissued, lodged, opened, raised, commented, replied, lowered, increased, extended, waived, split, placed, taken, queued, granted, made, arranged, configured, implemented, updated',
  de: 'verarbeit*, abgeschlossen, bestätig*, erledigt, ausgestellt, beantragt, durchgeführt, ausgeführt',
  es: 'completad*, procesad*, realiz*, hecho, efectu*, emitid*, confirmad*, tramitad*',
  fr: 'effectu*, traité*, terminé*, confirmé*, validé*',
  pt: 'concluíd*, processad*, realizad*, feito, emitid*, confirmad*',
  ja: '完了, 処理, 済み, 済んで',
  zh: '完成, 处理, 提交, 办理',
});

/** What a speaker does in words or in thought: it needs no tool. */
export const SAYING = new Phrases({
  en: 'list*, summar*, explain*, describ*, outlin*, mention*, includ*, provid*, given, gave, told, said, answer*, respond*, clarif*, noted, notic*, understood, known, seen, saw, heard, receiv*, gather*, got, had, been, decid*, consider*, assum*, suggest*, recommend*, propos*, asked, wanted, needed, planned, tried, attempt*, hoped, looked, learn*, believ*, thought, highlight*, marked, detail*, translat*, calculat*, comput*, compar*, analy*, broke, broken, summed, waited, offer*, happen*, occur*, referr*, quoted, appear*, seem*, worked, based, fail*, discussed, shown, presented, sorted, confirm*',
});

/** Acts of looking something up. */
export const LOOKUPS = new Phrases({
  en: 'found, find, locat*, verif*, retriev*, check*, looked, identif*, search*, fetch*, pull*, review*, access*, pinged, quer*, read, scanned, inspected, examined',
  de: 'gefunden, geprüft, überprüft, nachgesehen, abgerufen, gesucht',
  es: 'encontr*, consult*, revisad*, verificad*, comprobad*',
  fr: 'trouvé, vérifié, consulté, recherché',
  pt: 'encontrei, verifiquei, consultei, pesquisei',
  ja: '確認しました, 検索しました, 調べました, 見つけました',
  zh: '查到, 查了, 查询了, 查看了, 已查, 检查了, 找到了',
});

/** Of a request that asks for a look, not for an act: "check whether it was sent". */
export const ASKS_TO_LOOK = new Phrases({
  en: 'check, verify, review, whether, see if, find out, look up, look into, tell me, show me, list, to know, status of',
  de: 'prüf*, überprüf*, schau*, sieh, sehen sie, zeig*, sag mir, ob, wissen',
  es: 'revis*, comprueb*, verifi*, consult*, muéstra*, dime, dígame, saber, decir',
  fr: 'vérifi*, consult*, regarde*, montre*, dis moi, dites moi, savoir',
  pt: 'verifi*, confira, consult*, veja, mostr*, diga me, saber',
  ja: '確認, 調べ, 教えて, 見せて, 知りたい',
  zh: '查, 看看, 看一下, 确认, 告诉我, 想知道',
});

/** What a model makes in its answer itself. */
export const TEXT_ACTS = new Phrases({
  en: 'draft*, format*, sort*, compos*, convert*, rephras*, reword*, shorten*, polish*, proofread*, rank*, group*, fix*, coded, implement*, refactor*, design*, solv*, pick*, chos*, select*, narrow*, prepar*, tailor*, writ*, wrote, rewrit*, rewrote, edit*, correct*, simplif*, count*, number*, combin*, organi*, structur*, review*, outlin*, generat*, creat*, made, added, removed, used, taken, put, chang*, replac*, renam*, modif*, updat*',
});

/** First words of tools that only look. */
export const READS = new Phrases({
  en: 'get, list, find, search*, lookup, look, read, fetch, query, check, describe, show, view, calculate, calc, think, plan, validate, verify, estimate, preview, count, grep, browse, retrieve, inspect, weather, status, health, track, current, stock, recipe, what, who, tell, user, info, details, resolve, compare, predict, random, dice, roll, discover, ask, help, compute, convert, ping, summarize, explain, translate, is, has, web, suggest, simulate, locate, filter, poll, tail, diff, scan, trace, peek, measure, diagnos*, whois, analyze, extract, explore, geocode, review, recommend, poi, maps, crawl, scrape, route, navigate, snapshot, screenshot, policy, terms, coverage, headlines, balance, availability, freebusy, metrics, history, forecast, catalog, inventory, rules, prices, rates, sensor, presence, position',
  de: 'suche*, zeige*, finde, liste, lies, hole, abrufen, prüfe, pruefe, prüfen, pruefen, überprüfen, wetter, rechnung, bestand, verfügbarkeit, saldo',
  es: 'buscar, busca, obtener, consultar, consulta, leer, lista, listar, ver, mostrar, revisar, verificar, comprobar, cotizar, estado, horarios, disponibilidad, factura, inventario',
  fr: 'chercher, cherche, lire, afficher, trouver, rechercher, voir, vérifier, solde, horaires, facture',
  pt: 'pesquisar, procurar, ler, obter, cotar, consultar, estoque, verificar',
  ja: '検索, 確認, 取得, 照会, 一覧, 参照, 表示, 詳細',
  zh: '查, 获取, 獲取, 搜, 列出, 检索, 读取, 检查, 取得, 列表, 详情',
});
