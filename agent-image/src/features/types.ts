import type { Features } from '@agentfleet/protocol/inference';

/** What the text of changed sources tells before anything runs. */
export type SourceFeatures = Pick<Features, 'apiMismatch' | 'brokenNodes'>;

/** A source file before and after a change; `before` is null for a new one. */
export interface SourceChange {
  /** Below the workspace. */
  readonly path: string;
  readonly before: string | null;
  readonly after: string;
}

/** One source: uses of names, arity and keywords that are not there, and places that do not parse; null: it cannot be told. */
export interface Surface {
  readonly mismatches: number | null;
  readonly broken: number | null;
}

export const untold: Surface = { mismatches: null, broken: null };
