/** What a reason means, and what helps where somebody has to act. */
export type ReasonEntry = readonly [meaning: string, cure?: string];
