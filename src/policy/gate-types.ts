/** What a gate is made with, and what it is asked about. */
import type { JsonObject } from '../json/index.ts';
import type { PolicyDecisionPoint } from './decision-point.ts';
import type { OutputTypes } from './output-contract.ts';
import type { PinStore } from './pins.ts';
import type { PolicyInput, ReloadListener } from './policy-source.ts';
import type { ToolsByServer } from './tool-definition.ts';

/** A call somebody wants made. */
export interface GateCall {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Who asks, as the host knows it; never what a client claims. @defaultValue '' */
  readonly caller?: string | undefined;
  /** The run the call counts for in budgets. @defaultValue '' */
  readonly runId?: string | undefined;
  /** The user's request, for rules about where arguments come from. */
  readonly userRequest?: string | undefined;
  /** A token from {@link PolicyGate.approve}. */
  readonly approvalToken?: string | undefined;
}

export interface PolicyGateOptions {
  /** Path of the policy or allowlist file, or the parsed policy. */
  readonly policy: PolicyInput;
  /** Tools that are known at the start; rules for anything else are then load errors. */
  readonly tools?: ToolsByServer | undefined;
  /** Approved definitions. @defaultValue what is seen first is pinned for the life of the gate */
  readonly pins?: PinStore | undefined;
  /** Output types (zod) by server and tool, beside the tools' own output schemas. */
  readonly outputTypes?: OutputTypes | undefined;
  readonly decisionPoint?: PolicyDecisionPoint | undefined;
  /** Keys of a tool's `_meta` that belong to its pinned definition. @defaultValue none */
  readonly metaKeys?: readonly string[] | undefined;
  /** Key of the argument digests, UTF-8. @defaultValue none: plain SHA-256 */
  readonly digestKey?: string | undefined;
  /** How often the policy file is looked at, in milliseconds; 0 never. @defaultValue 0 */
  readonly reloadIntervalMs?: number | undefined;
  /** Told about each reload of the policy file. */
  readonly onReload?: ReloadListener | undefined;
}
