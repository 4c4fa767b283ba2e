/** The model behind `PolicyHost`: it is asked for text, and nothing it says is believed. */
export interface PlannerMessage {
  readonly role: 'system' | 'user';
  readonly content: string;
}

/** Anything that answers messages with a text: a model (`modelPlanner` of the orchestrator), a recording, a script. */
export interface Planner {
  plan(messages: readonly PlannerMessage[]): Promise<string>;
}
