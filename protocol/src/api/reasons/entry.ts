// protocol, api/reasons: type of an entry of the catalogue: meaning and cure. Imports nothing of other folders.

/** Meaning of a reason, and the remedy where a person has to act. */
export type ReasonEntry = readonly [meaning: string, cure?: string];
