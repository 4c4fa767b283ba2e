/** What a gate bars, as telemetry: a tool that no model is shown is never called, so its calls say nothing about it. */
import { diag, type Span } from '@opentelemetry/api';
import { errorMessage, toAttribute } from '../base/index.ts';
import { canonicalJson } from '../json/index.ts';
import type { ToolDefinition } from '../mcp-client/index.ts';
import { resolveCaptureContent } from '../processor/index.ts';
import type { CatalogTool } from './catalog.ts';
import type { PinStore } from './pins.ts';
import { addGateEvent, inGateSpan } from './telemetry.ts';

/** The tool that is barred: it was not called, and calls are counted by `gen_ai.tool.name`. */
export const BARRED_TOOL = 'observatory.barred_tool';

/** The definition that is barred and the one that was approved, as canonical JSON: only where content is captured. */
export const BARRED_DEFINITION = 'observatory.barred_definition';
export const APPROVED_DEFINITION = 'observatory.approved_definition';

/** Definitions that are reported; a server that keeps changing them must not fill the store. */
const MAX_TOLD = 1_000;
/** Longest definition on a span. A longer one is left out as a whole: half of it would hide what is in the other half. */
const MAX_DEFINITION_CHARS = 65_536;
const MAX_NAME = 256;

/** Tells once of each definition that is barred, with a span of its own. */
export class BarredTools {
  readonly #pins: PinStore;
  readonly #told = new Set<string>();
  #keepsContent: boolean | undefined;

  constructor(pins: PinStore) {
    this.#pins = pins;
  }

  /** Tells of a tool that is barred; of any other nothing. Never throws. */
  tell(tool: CatalogTool | undefined): void {
    if (tool?.barred === undefined || this.#told.size >= MAX_TOLD) return;
    const key = JSON.stringify([tool.server, tool.name, tool.hash]);
    if (this.#told.has(key)) return;
    this.#told.add(key);
    void inGateSpan(`tool_barred ${tool.name.slice(0, MAX_NAME)}`, async (span) =>
      this.#describe(span, tool),
    ).catch((error: unknown) =>
      diag.error(`mcp-observatory: a barred tool is not told of: ${errorMessage(error)}`),
    );
  }

  #describe(span: Span, { server, name, hash, barred, definition }: CatalogTool): void {
    if (barred === undefined) return;
    // No decision: denials are counted by it.
    span.setAttributes({
      [BARRED_TOOL]: name.slice(0, MAX_NAME),
      'observatory.mcp_server': server.slice(0, MAX_NAME),
      [toAttribute('policy_reason')]: barred.reasonCode,
      ...(hash === '' ? {} : { [toAttribute('tool_hash')]: hash }),
    });
    addGateEvent(span, 'stop', barred.reasonCode);
    this.#keepsContent ??= resolveCaptureContent();
    if (!this.#keepsContent || hash === '') return;
    setDefinition(span, BARRED_DEFINITION, definition);
    setDefinition(span, APPROVED_DEFINITION, this.#pins.approvedDefinition(server, name));
  }
}

function setDefinition(span: Span, name: string, definition: ToolDefinition | undefined): void {
  const text = definition === undefined ? undefined : canonicalJson(definition);
  if (text !== undefined && text.length <= MAX_DEFINITION_CHARS) span.setAttribute(name, text);
}
