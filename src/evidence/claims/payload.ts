/** What a result carries below the keys that say how the call went, and whether it is a list of nothing. */
const PAYLOAD = /^(?:data|result|response|payload|body|output)$/i;
const OF_ANSWER =
  /^(?:request_?id|trace(?:_?id)?|meta(?:data)?|ok|success|code|(?:http_?)?status(?:_?code)?|msg|message|rate_?limit|warnings?|(?:api_?)?version|timing|took(?:_ms)?|duration(?:_ms)?|errors?|timestamp)$/i;
/** Lists of what a search found. */
const FOUND =
  /^(?:results?|items|rows|hits|matches|records|entries|documents|list|values|messages|tickets|orders|events|files|issues|products|articles|pages|treffer|ergebnisse|resultados|結果|结果)$/i;
const COUNT =
  /^(?:total|count|found|hits|size|total_?(?:count|results|hits)|num_?(?:results|found)|anzahl)$/i;
/** Lists beside them that are no finds. */
const BESIDE =
  /suggest|filter|facet|index|column|field|space|warning|sort|scope|permission|deprecat|searched|quer|carrier/i;
/** A longer text beside an empty list may be the answer. */
const MAX_NOTE_CHARS = 80;
const MAX_KEYS = 60;

type Fields = Readonly<Record<string, unknown>>;

/** The one part of a result that is not about the call: `data` of `{"ok": true, "data": {…}, "request_id": "…"}`. */
export function payloadOf(record: Fields): object | undefined {
  let payload: object | undefined;
  let keys = 0;
  for (const key in record) {
    if (++keys > MAX_KEYS) return undefined;
    const value = record[key];
    if (PAYLOAD.test(key) && typeof value === 'object' && value !== null) {
      if (payload !== undefined) return undefined;
      payload = value;
    } else if (!OF_ANSWER.test(key)) return undefined;
  }
  return keys > 1 ? payload : undefined;
}

/** `{"query": "…", "total": 0, "results": [], "took_ms": 12}` */
export function foundNothing(record: Fields): boolean {
  let [hasEmptyList, keys] = [false, 0];
  for (const key in record) {
    if (++keys > MAX_KEYS) return false;
    const value = record[key];
    if (Array.isArray(value)) {
      if (value.length === 0) hasEmptyList ||= FOUND.test(key);
      else if (!BESIDE.test(key)) return false;
    } else if (COUNT.test(key) && typeof value === 'number') {
      if (value !== 0) return false;
    } else if (typeof value === 'string' && value.length > MAX_NOTE_CHARS && !BESIDE.test(key)) return false;
  }
  return hasEmptyList;
}
