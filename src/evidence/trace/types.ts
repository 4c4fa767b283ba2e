/** A tool call of the run, in the order in which the calls were made. */
export interface TraceStep {
  readonly tool: string;
  readonly arguments?: unknown;
  readonly result?: unknown;
  /** The call failed or was denied, by the protocol or the gate. A failure may also be in `result` alone. */
  readonly isError?: boolean;
  /** The call ended well as far as one knows, and its result is not known: values are not compared with it. */
  readonly isOpaque?: boolean;
}

/** `partial`: of several things that it was to do it did some. */
export type StepOutcome = 'ok' | 'failed' | 'empty' | 'partial';

/** What a call achieved. */
export interface StepEnd {
  readonly outcome: StepOutcome;
  /** It failed by a state ("stopped"): of a call that looks, that of the thing. */
  readonly isState?: boolean;
  /** Of a call that writes: the result says that nothing was changed. */
  readonly hadNoEffect?: boolean;
}

/** A call as the rules read it. */
export interface ReadStep {
  readonly index: number;
  readonly tool: string;
  /** The words of the tool's name. */
  readonly toolWords: readonly string[];
  /** Beginnings of these words. */
  readonly stems: ReadonlySet<string>;
  /** Families of acts that its name has. */
  readonly acts: ReadonlySet<string>;
  /** It only looks. */
  readonly isRead: boolean;
  /** Its result describes tools: no evidence of anything. */
  readonly isListing: boolean;
  readonly isOpaque: boolean;
  readonly outcome: StepOutcome;
  /** It failed, or it writes and changed nothing. */
  readonly isBad: boolean;
  /** A later call did the same: the failure is repaired. */
  readonly isRepaired: boolean;
  readonly value: unknown;
  readonly arguments: unknown;
  /** The result as plain text, with nested JSON taken apart; cut. */
  readonly text: string;
  readonly argumentsText: string;
  /** The arguments without long texts that the call was to write. */
  readonly given: string;
  /** Both in lower case. */
  readonly lower: string;
  /** Not all of the result was read, or it was cut before it came here. */
  readonly isCut: boolean;
  /** Identifiers, paths and addresses among the arguments, in lower case. */
  readonly ids: ReadonlySet<string>;
  /** Short texts among the arguments, in lower case. */
  readonly names: readonly string[];
  /** The first argument that is no long text. */
  readonly target: string;
  /** A tool that runs any command. */
  readonly runsCommands: boolean;
}
