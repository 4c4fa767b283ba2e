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

export type ClaimKind =
  | 'tool_failed_claimed_success'
  | 'tool_never_called'
  | 'empty_result_confident_answer'
  | 'wrong_value'
  | 'wrong_negation'
  | 'partial';

/** Words of the answer that the trace contradicts. */
export interface ClaimFinding {
  readonly kind: ClaimKind;
  /** Place of the sentence in the answer, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  /** Index of the step against it; absent where no call was made. */
  readonly step?: number;
}

export interface ClaimInput {
  /** What the user said: its figures and names need no tool. */
  readonly prompt: string;
  readonly answer: string;
  /** All tool calls of the run before the answer, in order. */
  readonly steps: readonly TraceStep[];
}

export type StepOutcome = 'ok' | 'failed' | 'empty' | 'partial';

/** A step as the checks read it. */
export interface ReadStep {
  readonly index: number;
  readonly tool: string;
  readonly outcome: StepOutcome;
  readonly isOpaque: boolean;
  /** The call went well, and says of a thing that it failed. */
  readonly isFailedState: boolean;
  /** The call failed, or it writes and changed nothing. */
  readonly isBad: boolean;
  readonly isRead: boolean;
  /** How many things it did of more that it was to do. */
  readonly count: number | undefined;
  readonly acts: ReadonlySet<string>;
  /** The beginnings of the words of the tool's name. */
  readonly stems: ReadonlySet<string>;
  /** A later call of the tool with the same first argument, or of another one with all of its ids, ended well. */
  readonly isRetried: boolean;
  readonly value: unknown;
  readonly arguments: unknown;
  /** The result as text, cut. */
  readonly text: string;
  readonly argumentsText: string;
  /** Texts among the arguments, in lower case. */
  readonly names: readonly string[];
  readonly ids: ReadonlySet<string>;
  /** The longest list among the arguments. */
  readonly parts: number;
  /** The first argument: a later call of the tool with the same one is a second try. */
  readonly target: string;
}

/** A word in lower case, with its place. */
export interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A sentence of the answer: its place in UTF-16 code units, its text and its words. */
export interface Sentence {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The text in lower case. */
  readonly lower: string;
  readonly words: readonly Word[];
  readonly isQuestion: boolean;
}

/** What a sentence claims to have been done or looked up. */
export interface AnswerClaim {
  readonly sentence: Sentence;
  /** `other`: a verb of no known act. */
  readonly kind: 'act' | 'lookup' | 'other';
  /** A completed act ("has been", "I've", "successfully"), not just a state ("is cancelled"). */
  readonly isCompleted: boolean;
  /** The speaker says that it did it. */
  readonly isOwn: boolean;
  /** Verbs of the claim, in the form of the sentence. */
  readonly verbs: readonly string[];
  /** Words of the place that somebody is said to be in: "queue". */
  readonly places: readonly string[];
  /** The beginnings of verbs: a tool may be named by one. */
  readonly stems: ReadonlySet<string>;
  /** Those of completed acts ("has been paused", "I've paused"). */
  readonly doneStems: ReadonlySet<string>;
  /** Families of the verbs; empty for plain acts ("processed"). */
  readonly acts: ReadonlySet<string>;
  /** Families named anywhere in the sentence. */
  readonly mentioned: ReadonlySet<string>;
  /** Identifiers in the sentence and in the list that it opens, in lower case. */
  readonly ids: Set<string>;
}
