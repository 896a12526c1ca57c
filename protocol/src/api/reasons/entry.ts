/** What a reason means, and what helps where a person has to act. */
export type ReasonEntry = readonly [meaning: string, cure?: string];
