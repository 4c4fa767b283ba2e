/**
 * Tokens beside those of gitleaks: looser forms of the same, newer vendors, and tokens whose fixed part is not at their
 * beginning. Sources: the documentation of the vendors, and the rules of secretlint (MIT).
 */

export interface TokenRule {
  /** What the text has where the rule applies, in lower case, at least three characters each; separated by spaces. */
  readonly starts: string;
  /** Characters of the token before that place. @defaultValue 0 */
  readonly offset?: number;
  /** Form of the token. Every repeat is bounded, or nothing follows it. */
  readonly form: RegExp;
  /** @defaultValue 'token' */
  readonly kind?: string;
  /** Whether the token must have a long run of letters and digits, because words can have its form. */
  readonly isMixed?: boolean;
}

/** Not inside a longer word, nor inside base64 data. */
const ALONE = '(?<![A-Za-z0-9+/])';

/** The rules, made when they are first needed. */
export const tokenRules = (): readonly TokenRule[] => [
  // Models and their tools
  { starts: 'sk-', form: /(?<![\w-])sk-[A-Za-z0-9_-]{16,}/y, kind: 'api key', isMixed: true },
  {
    starts: 'sk-ant- sk-proj- sk-or-v sk-svcacct- sk-admin- sk-lf-',
    form: /\bsk-[A-Za-z0-9_-]{16,}/y,
    kind: 'api key',
  },
  { starts: 'sess-', form: /\bsess-[A-Za-z0-9]{40}\b/y },
  { starts: 'gsk_ xai- r8_ pplx-', form: /\b(?:gsk_|xai-|r8_|pplx-)[A-Za-z0-9]{24,}/y, kind: 'api key' },
  { starts: 'hf_ api_org_', form: /\b(?:hf|api_org)_[A-Za-z0-9]{30,}/y },
  { starts: 'nvapi-', form: /\bnvapi-[\w-]{40,}/y, kind: 'api key' },
  { starts: 'tgp_v1_', form: /\btgp_v1_[\w-]{30,}/y, kind: 'api key' },
  { starts: 'lsv2_', form: /\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}/y, kind: 'api key' },
  { starts: 'pcsk_', form: /\bpcsk_\w{40,}/y, kind: 'api key' },
  { starts: 'tvly-', form: /(?<![\w-])tvly-[\w-]{20,}/y, kind: 'api key', isMixed: true },
  { starts: 'jina_', form: /\bjina_[A-Za-z0-9]{40,}/y, kind: 'api key' },
  { starts: 'fw_', form: /\bfw_[A-Za-z0-9]{22,}\b/y, kind: 'api key', isMixed: true },
  { starts: 'csk-', form: /\bcsk-[a-z0-9]{40,}/y, kind: 'api key' },
  { starts: 'e2b_', form: /\be2b_[a-f0-9]{40}/y, kind: 'api key' },
  { starts: 'sk_', form: /\bsk_[a-f0-9]{48}\b/y, kind: 'api key' },
  { starts: 'fc-', form: /\bfc-[a-f0-9]{32}\b/y, kind: 'api key' },
  { starts: 'phx_ phc_', form: /\bph[xc]_[A-Za-z0-9]{40,}/y, kind: 'api key' },

  // Code hosts, registries, builds
  { starts: 'ghp_ gho_ ghu_ ghs_ ghr_', form: /gh[oprsu]_[A-Za-z0-9]{20,}/y },
  { starts: 'github_pat_', form: /github_pat_\w{20,}/y },
  {
    starts: 'glpat- gldt- glrt- glcbt- glptt- glft- glimt- glsoat- gloas- glagent- glffct-',
    form: /gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[\w-]{16,}(?:\.[\w-]{1,20}){0,2}/y,
  },
  // What Jenkins encrypts in its configuration.
  { starts: '{aqaa', form: /\{AQAA[A-Za-z0-9+/]{20,}={0,2}\}/y, kind: 'secret' },
  { starts: 'npm_', form: /\bnpm_[A-Za-z0-9]{30,}/y },
  { starts: 'pypi-age', form: /\bpypi-AgE[\w-]{40,}/y },
  { starts: 'rubygems_', form: /\brubygems_[a-f0-9]{40,}/y },
  { starts: 'oy2', form: /\boy2[a-z0-9]{43}\b/y },
  { starts: 'cio', form: new RegExp(`${ALONE}cio[A-Za-z0-9]{32}(?![\\w+/])`, 'y'), isMixed: true },
  { starts: 'dckr_', form: /\bdckr_(?:pat|oat)_[\w-]{20,}/y },
  { starts: 'atbb atctt3 atatt3', form: /\bAT(?:BB|CTT3|ATT3)[\w=.-]{24,}/y },
  { starts: 'ccipat_ cciprj_', form: /\bCCIP(?:AT|RJ)_\w{20,}/y },
  { starts: 'bkua_', form: /\bbkua_[a-f0-9]{40}/y },
  { starts: 'squ_ sqp_ sqa_', form: /\bsq[upa]_[a-f0-9]{40}/y },
  { starts: '.atlasv1.', offset: 14, form: /\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}/y },
  {
    starts: 'azdo',
    offset: 76,
    form: new RegExp(`${ALONE}[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![\\w+/])`, 'y'),
  },

  // Clouds and platforms
  {
    starts: 'akia asia abia acca a3t',
    form: /\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])(?=[A-Z]{0,19}\d)[A-Z0-9]{12,20}\b/y,
    kind: 'access key',
  },
  { starts: 'absk', form: new RegExp(`${ALONE}ABSK[A-Za-z0-9+/]{109,}={0,2}`, 'y'), kind: 'api key' },
  { starts: 'amzn.mws.', form: /\bamzn\.mws\.[a-f0-9-]{36}/y },
  { starts: 'aiza', form: /\bAIza[\w-]{30,}/y, kind: 'api key' },
  { starts: 'ya29.', form: /\bya29\.[\w.-]{20,}/y },
  { starts: 'gocspx-', form: /\bGOCSPX-[\w-]{20,}/y, kind: 'client secret' },
  { starts: '1//0', form: /(?<![\w/])1\/\/0[\w-]{30,}/y },
  {
    starts: '0q~ 1q~ 2q~ 3q~ 4q~ 5q~ 6q~ 7q~ 8q~ 9q~',
    offset: 3,
    form: /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{30,}/y,
  },
  {
    starts: 'jqqj9',
    offset: 52,
    form: new RegExp(`${ALONE}[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27}(?![\\w+/])`, 'y'),
    kind: 'api key',
  },
  { starts: 'dapi dose dkea', form: /\bd(?:api|ose|kea)[a-f0-9]{32}(?:-\d)?\b/y },
  { starts: 'dop_v1_ doo_v1_ dor_v1_', form: /\bdo[opr]_v1_[a-f0-9]{40,}/y },
  {
    starts: 'dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.',
    form: /\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{32,}/y,
  },
  { starts: 'dt0c01. dt0s16.', form: /\bdt0[cs]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}/y },
  { starts: 'fm1 fm2_ fo1_', form: /\b(?:fm1[ar]?_|fm2_|fo1_)[\w+/=,-]{40,}/y },
  { starts: 'hvs. hvb. hvr.', form: /\bhv[sbr]\.[\w-]{20,}/y },
  { starts: 'hrku-', form: /\bHRKU-[\w-]{30,}/y, kind: 'api key' },
  { starts: 'nfp_', form: /\bnfp_[A-Za-z0-9]{30,}/y },
  { starts: 'rnd_', form: /\brnd_[A-Za-z0-9]{28,}\b/y, isMixed: true },
  { starts: 'pscale_', form: /\bpscale_(?:tkn|oauth|pw)_[\w=.-]{24,}/y },
  { starts: 'sbp_ sb_secret_', form: /\b(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,})/y },
  { starts: 'napi_', form: /\bnapi_[a-z0-9]{40,}/y, kind: 'api key' },
  { starts: 'mdb_sa_sk_', form: /\bmdb_sa_sk_[\w-]{30,}/y },
  { starts: 'tskey-', form: /\btskey-[a-z]{2,12}-[\w-]{16,}/y },
  { starts: 'essu_', form: /\bessu_[A-Za-z0-9+/=_-]{40,}/y },
  { starts: 'vcp_ vci_ vca_ vcr_ vck_', form: /(?<![\w-])vc[piark]_[A-Za-z0-9]{24,}/y, isMixed: true },

  // Messages, mail, payments, shops
  { starts: 'xox', form: /\bxox[a-eoprs]-[A-Za-z0-9%-]{10,}/y },
  { starts: 'xoxe.xox', form: /\bxoxe\.xox[bp]-[A-Za-z0-9-]{20,}/y },
  { starts: 'xapp-', form: /\bxapp-\d-[A-Za-z0-9-]{10,}/y },
  {
    starts: 'hooks.slack',
    form: /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/[\w/+-]{20,}/y,
    kind: 'webhook',
  },
  {
    starts: 'discord',
    form: /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{15,21}\/[\w-]{30,}/y,
    kind: 'webhook',
  },
  {
    starts: 'webhook.office',
    form: /webhook\.office\.com\/webhookb2\/[\w@-]{30,100}\/IncomingWebhook\/[\w/-]{30,}/y,
    kind: 'webhook',
  },
  { starts: 'hooks.zapier', form: /hooks\.zapier\.com\/hooks\/catch\/\d{4,12}\/\w{5,}/y, kind: 'webhook' },
  { starts: ':aa', form: /(?<=(?<!\d)\d{8,12}):AA[\w-]{32,}/y },
  { starts: ':apa91b', form: /(?<=[\w-]{11}):APA91b[\w-]{100,}/y },
  { starts: 'sg.', form: /\bSG\.[\w-]{16,64}\.[\w-]{16,}/y, kind: 'api key' },
  { starts: 'key-', form: /\bkey-[a-f0-9]{32}\b/y, kind: 'api key' },
  {
    starts: '-us1 -us2 -us3 -us4 -us5 -us6 -us7 -us8 -us9',
    offset: 32,
    form: /\b[a-f0-9]{32}-us\d{1,2}\b/y,
    kind: 'api key',
  },
  { starts: 'md-', form: /\bmd-[\w-]{22}\b/y, kind: 'api key', isMixed: true },
  {
    starts: 'xkeysib- xsmtpsib-',
    form: /\bx(?:key|smtp)sib-[a-f0-9]{60,64}-[A-Za-z0-9]{16}/y,
    kind: 'api key',
  },
  { starts: 're_', form: /\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b/y, kind: 'api key', isMixed: true },
  {
    starts: 'sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 ska skb skc skd ske skf',
    form: /\bSK[a-f0-9]{32}\b/y,
    kind: 'api key',
  },
  {
    starts: 'sk_live sk_test rk_live rk_test sk_prod rk_prod',
    form: /\b[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}/y,
    kind: 'api key',
  },
  { starts: 'whsec_', form: /\bwhsec_[A-Za-z0-9+/=]{20,}/y },
  { starts: 'rzp_', form: /\brzp_(?:live|test)_[A-Za-z0-9]{14,}/y, kind: 'api key' },
  { starts: 'sq0', form: /\bsq0[a-z]{3}-[\w-]{22,}/y },
  { starts: 'eaaa', form: new RegExp(`${ALONE}EAAA[lE][\\w-]{50,62}(?![\\w+/])`, 'y') },
  { starts: 'access_token$', form: /\baccess_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}/y },
  { starts: 'shpat_ shpca_ shppa_ shpss_ shpua_', form: /\bshp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32}/y },

  // Other services
  { starts: 'figd_ figu_', form: /\bfig[du]_[\w-]{30,}/y },
  { starts: 'patf patl patk pat', form: /\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b/y },
  { starts: 'pat-', form: /\bpat-(?:na|eu|ap)\d-[a-f0-9-]{36}/y },
  { starts: 'cfpat-', form: /\bCFPAT-[\w-]{40,}/y },
  { starts: 'lin_', form: /\blin_(?:api|oauth)_[A-Za-z0-9]{30,}/y, kind: 'api key' },
  { starts: 'ntn_', form: /\bntn_[A-Za-z0-9]{40,}/y },
  { starts: 'secret_', form: /\bsecret_[A-Za-z0-9]{43}\b/y },
  { starts: 'pmak-', form: /\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}/y, kind: 'api key' },
  { starts: 'sntrys_ sntryu_', form: /\bsntry[su]_[A-Za-z0-9+/=_]{40,}/y },
  { starts: 'glsa_ glc_', form: /\b(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,})/y },
  { starts: 'nrak nrii nrjs nrbr nriq', form: /\bNR(?:AK|II|JS|BR|IQ)-[A-Za-z0-9-]{19,}/y, kind: 'api key' },
  { starts: 'nral', offset: 36, form: /\b[a-f0-9]{36}NRAL\b/y, kind: 'license key' },
  { starts: '_mmk', offset: 36, form: /\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b/y, kind: 'license key' },
  {
    starts: 'sdk- mob- api-',
    form: /\b(?:sdk|mob|api)-[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[a-f0-9]{4}-[a-f0-9]{12}\b/y,
    kind: 'api key',
  },
  { starts: 'xaat-', form: /\bxaat-[a-f0-9-]{36}/y },
  { starts: 'atta', form: new RegExp(`${ALONE}ATTA[a-f0-9]{64}`, 'y') },
  { starts: 'sgp_', form: /\bsgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}/y },
  { starts: 'dbtu_ dbtc_', form: /\bdbt[uc]_[\w-]{20,}/y },
  { starts: 'flwseck', form: /\bFLWSECK(?:_TEST)?-[\w-]{12,}/y },
  { starts: 'ssws', form: /\bSSWS 00[\w-]{38,40}(?![\w-])/y, kind: 'credential' },
  { starts: 'bb_live_ bb_test_', form: /\bbb_(?:live|test)_[\w-]{20,}/y, kind: 'api key' },
  { starts: 'ak_', form: /\bak_[A-Za-z0-9]{20,40}\b/y, kind: 'api key', isMixed: true },
  // The answer of HTTP Digest, which is as good as the password where it is tried (RFC 7616).
  { starts: 'response="', form: /\bresponse="(?:[a-f0-9]{32}){1,2}"/y, kind: 'credential' },
  { starts: 'sl.', form: /\bsl\.(?:u\.)?[\w-]{100,}/y },
  // JSON Web Tokens and the like: base64 of `{"`
  { starts: 'eyj', form: /(?<![\w-])eyJ[\w-]{8,4000}\.(?:[\w-]{4,}|(?=\.))\.?[\w.-]*/y },
];

/** The first letters of a Discord bot token, which begins with a number of 17 to 20 digits in base64. */
const discordStarts = (): string[] =>
  ['m', 'n', 'o'].flatMap((first) =>
    ['d', 't', 'j', 'z'].flatMap((second) => [...'aeimquyckg'].map((third) => first + second + third)),
  );

export const discordRule = (): TokenRule => ({
  starts: discordStarts().join(' '),
  form: /(?<![\w-])[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,}/y,
});
