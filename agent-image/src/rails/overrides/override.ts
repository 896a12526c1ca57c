// agent-image, rails/overrides: type of an override that decides an assertion. May import rails/syntax and rails/verdict.

/** A place in a source file that decides by itself how an assertion about its objects ends. */
export interface Override {
  /** Place that it is in: `Money.__eq__`, `Proxy`. */
  readonly where: string;
  /** Reason why it is asked about, as the rest of a sentence about `where`. */
  readonly what: string;
  /** The text of it, by which what was there before is known again. */
  readonly text: string;
}
