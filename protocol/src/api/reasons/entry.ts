/** Meaning of a reason, and the remedy where a person has to act. */
export type ReasonEntry = readonly [meaning: string, cure?: string];
