/** Counters of a processor since its creation. */
export interface ProcessorStats {
  /** Enriched GenAI and MCP spans. */
  readonly enriched: number;
  /** Internal errors; the span was exported without the affected fields. */
  readonly faults: number;
  /** Attributes that did not fit on a span because of the SDK's limit (128 by default). */
  readonly attributesDropped: number;
  /** Model calls without `prompt_template_id`; 0 without the option `requirePromptTemplate`. */
  readonly untemplated: number;
  /** Attributes of other instrumentations removed by `redactContent`. */
  readonly attributesRedacted: number;
}
