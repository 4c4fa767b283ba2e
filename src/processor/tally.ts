import { diag } from '@opentelemetry/api';
import type { FieldValues } from '../base/index.ts';
import { countFields } from './set-fields.ts';

/** Counters of a processor since its creation. */
export interface ProcessorStats {
  /** Enriched GenAI and MCP spans. */
  readonly enriched: number;
  /** Internal errors; the span was exported without the affected fields. */
  readonly faults: number;
  /** Attributes that found no place on a span, because it cannot be written to. */
  readonly attributesDropped: number;
  /** Model calls without `prompt_template_id`; 0 without the option `requirePromptTemplate`. */
  readonly untemplated: number;
  /** Attributes of other instrumentations removed by `redactContent`. */
  readonly attributesRedacted: number;
}

export type EnrichmentFault = 'governance' | 'enrichment' | 'verifier' | 'redaction' | 'publishing';
/** What is logged separately. */
type Subject = EnrichmentFault | 'template' | 'attribute limit' | 'old SDK';

/** Counts what happened to spans, and logs the first problem of each kind: one in every span does not fill the log. */
export class Tally {
  readonly #stats = { enriched: 0, faults: 0, untemplated: 0, attributesDropped: 0, attributesRedacted: 0 };
  readonly #logged = new Set<Subject>();

  get stats(): ProcessorStats {
    return { ...this.#stats };
  }

  countEnriched(): void {
    this.#stats.enriched += 1;
  }

  countRedacted(attributes: number): void {
    this.#stats.attributesRedacted += attributes;
  }

  countUntemplated(spanName: string): void {
    this.#stats.untemplated += 1;
    this.#warnOnce('template', `the model call '${spanName}' has no prompt_template_id`);
  }

  /** @param placed how many of the fields that the span did not take are on it nevertheless. */
  countDropped(dropped: FieldValues, placed = 0): void {
    const count = countFields(dropped) - placed;
    if (count === 0) return;
    this.#stats.attributesDropped += count;
    this.#warnOnce('attribute limit', 'a span that cannot be written to lost observatory attributes');
  }

  countRefused(names: readonly string[]): void {
    this.#stats.faults += 1;
    this.#warnOnce(
      'governance',
      `governance fields of the wrong type or range left out: ${names.join(', ')}`,
    );
  }

  countFault(kind: EnrichmentFault, error: unknown): void {
    this.#stats.faults += 1;
    // The message of an error may quote content.
    const name = error instanceof Error ? error.name : typeof error;
    this.#warnOnce(kind, `${kind} failed with ${name}; the span is exported without its fields`);
  }

  warnOldSdk(): void {
    this.#warnOnce(
      'old SDK',
      'this OpenTelemetry SDK calls no onEnding (2.3 brought it); exporters registered before the processor miss its fields',
    );
  }

  #warnOnce(subject: Subject, message: string): void {
    if (this.#logged.has(subject)) return;
    this.#logged.add(subject);
    diag.warn(`mcp-observatory: ${message} (said once; later cases are only counted)`);
  }
}
