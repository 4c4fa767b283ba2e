/** The options of a gate, and the calls it decides. */
import type { JsonObject } from '../json/index.ts';
import type { PolicyDecisionPoint } from './decision-point.ts';
import type { OutputTypes } from './output-contract.ts';
import type { PinStore } from './pins.ts';
import type { PolicyInput, ReloadListener } from './policy-source.ts';
import type { ToolsByServer } from './tool-definition.ts';

/** A requested tool call. */
export interface GateCall {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Who the call is for, as the host knows it; never what a client claims. @defaultValue '' */
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
  /** Tools known at the start; rules for any other tool are then load errors. */
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
  /** How often the policy file is checked for changes, in milliseconds; 0 for never. @defaultValue 0 */
  readonly reloadIntervalMs?: number | undefined;
  /** Called after each reload of the policy file. */
  readonly onReload?: ReloadListener | undefined;
}
