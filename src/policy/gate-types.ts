/** The options of a gate, and the calls it decides. */
import type { ApprovalQueue } from '../approvals/index.ts';
import {
  checkOptions,
  either,
  having,
  invalidOption,
  kinds,
  type OptionKinds,
  secret,
} from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import type { PostgresConnection } from '../postgres/index.ts';
import type { Decision } from './decision.ts';
import type { PolicyDecisionPoint } from './decision-point.ts';
import type { CallLedger } from './ledger/index.ts';
import { A_PIN_STORE } from './option-kinds.ts';
import type { OutputTypes } from './output-contract.ts';
import type { PinStore } from './pins.ts';
import type { PolicyInput, ReloadListener } from './policy-source.ts';
import type { RequestMethod } from './requests.ts';
import type { ToolsByServer } from './tool-definition.ts';

/** A requested tool call. */
export interface GateCall {
  readonly server: string;
  /** The tool, or the method where {@link method} says that it is no tool call. */
  readonly tool: string;
  readonly args: JsonObject;
  /** What is requested, if it is no tool call. */
  readonly method?: RequestMethod | undefined;
  /** Who the call is for, as the host knows it; never what a client claims. @defaultValue '' */
  readonly caller?: string | undefined;
  /** The run the call counts for in budgets. @defaultValue '' */
  readonly runId?: string | undefined;
  /**
   * The session the call is made in, as the host knows it, which an approval for a session is bound to. @defaultValue the
   * `sessionId` of `govern()`; of `gateClient` the connection, of `PolicyHost` the host, of `mcpGhost` the run
   */
  readonly sessionId?: string | undefined;
  /** The user's request, for rules about where arguments come from. */
  readonly userRequest?: string | undefined;
  /** Template of the prompt behind the call, for policies that require one. @defaultValue that of `govern()` */
  readonly promptTemplateId?: string | undefined;
  /** A token from {@link PolicyGate.approve}. */
  readonly approvalToken?: string | undefined;
  /** A person was asked about this exact call and said no: if it needs approval, it is denied. @defaultValue false */
  readonly isRejected?: boolean | undefined;
}

/** Durable approvals of a gate. */
export interface GateApprovals {
  readonly queue: ApprovalQueue;
  /**
   * How long a call waits for the decision, in milliseconds; then it is refused, and the next equal call goes through
   * once it is approved. @defaultValue 0
   */
  readonly waitMs?: number | undefined;
}

/** Writes a decision down before it takes effect. A throw denies the call: a call that is not on record is not made. */
export type DecisionRecorder = (decision: Decision) => void;

export interface PolicyGateOptions {
  /**
   * Path of the policy or allowlist file, or the parsed policy.
   * @defaultValue the file `SAFE_ALLOWLIST_PATH` names, else `config/allowlist.json`
   */
  readonly policy?: PolicyInput | undefined;
  /** Every tool there is, by server; rules about any other server are then {@link PolicyGate.findings}. */
  readonly tools?: ToolsByServer | undefined;
  /** Approved definitions. @defaultValue what is seen first is pinned for the life of the gate */
  readonly pins?: PinStore | undefined;
  /** Output types (zod) by server and tool, beside the tools' own output schemas. */
  readonly outputTypes?: OutputTypes | undefined;
  /**
   * A summary whose claims, held against the result of the call, have a higher evidence risk is refused, 0..1. The risk is
   * 0.97 where a claim contradicts the result. @defaultValue 1
   */
  readonly maxEvidenceRisk?: number | undefined;
  readonly decisionPoint?: PolicyDecisionPoint | undefined;
  /**
   * Where calls that need approval are put for a person to decide, in a queue that outlives the process. The caller need
   * not do anything: an approved call goes through when it is made again, or at once if the gate waits for it.
   * @defaultValue none: such calls need a token from {@link PolicyGate.approve}
   */
  readonly approvals?: GateApprovals | undefined;
  /**
   * Where calls are counted and effects kept, for policies with `totals`, `sequences` or `once`: a connection string, pool
   * or PGlite with the schema of `migrate()`, or the address of an `up` that runs on this machine, shared by any number of
   * processes; or an object that does it. @defaultValue the database of `approvals`, else that of
   * `MCP_OBSERVATORY_DATABASE_URL`, else the memory of this gate
   */
  readonly ledger?: PostgresConnection | CallLedger | undefined;
  /** Keys of a tool's `_meta` that belong to its pinned definition. @defaultValue none */
  readonly metaKeys?: readonly string[] | undefined;
  /** Key of the argument digests, UTF-8. @defaultValue none: plain SHA-256 */
  readonly digestKey?: string | undefined;
  /** How often the policy file is checked for changes, in milliseconds; 0 for never. @defaultValue 0 */
  readonly reloadIntervalMs?: number | undefined;
  /** Called after each reload of the policy file. */
  readonly onReload?: ReloadListener | undefined;
}

const GATE_OPTIONS: OptionKinds<PolicyGateOptions> = {
  policy: either({ ...kinds.string, expected: 'the path of a policy file' }, kinds.object),
  tools: kinds.object,
  pins: A_PIN_STORE,
  outputTypes: kinds.object,
  decisionPoint: having('an object with a method decide()', 'decide'),
  approvals: kinds.object,
  ledger: secret(
    either(
      { ...kinds.string, expected: 'a connection string' },
      having('an object with a method query()', 'query'),
      having('an object with a method reserve()', 'reserve'),
    ),
  ),
  metaKeys: kinds.strings,
  digestKey: secret(kinds.string),
  reloadIntervalMs: kinds.number,
  onReload: kinds.function,
  maxEvidenceRisk: kinds.number,
};

/** @throws ObservatoryError `INVALID_OPTION` for an unknown option, or one out of range. */
export function checked(options: PolicyGateOptions): PolicyGateOptions {
  checkOptions(options, GATE_OPTIONS, 'PolicyGate');
  const { maxEvidenceRisk = 1 } = options;
  if (maxEvidenceRisk >= 0 && maxEvidenceRisk <= 1) return options;
  throw invalidOption("'maxEvidenceRisk'", 'a number from 0 to 1', maxEvidenceRisk);
}
