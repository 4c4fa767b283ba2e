/** A constraint the provider's schema language cannot say, so the model may break it. */
export interface RelaxedConstraint {
  /** JSON pointer to the schema that lost it, in the converted schema. */
  readonly path: string;
  readonly keyword: string;
}

/** Notes a constraint that is lost. */
export type Relax = (path: string, keyword: string) => void;
