import type { Features } from '@agentfleet/protocol/inference';

/**
 * Features from the text of changed sources. The first two are known before anything runs; a model reads the others
 * beside the measurements of a run.
 */
export type SourceFeatures = Pick<Features, 'apiMismatch' | 'brokenNodes' | 'complexityDelta' | 'lintDelta'>;

/** One source; null: unknown. */
export interface Surface {
  /** Uses of names, arity and keywords that are not there. */
  readonly mismatches: number | null;
  /** Places that do not parse. */
  readonly broken: number | null;
  /** Cyclomatic complexity of the whole file. */
  readonly complexity: number | null;
  /** Number of a linter's findings. */
  readonly findings: number | null;
}

/** For a file that is no program. */
export const plain: Surface = { mismatches: 0, broken: 0, complexity: 0, findings: 0 };

export const unreported: Surface = { mismatches: null, broken: null, complexity: null, findings: null };
