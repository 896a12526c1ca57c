import type { Features } from '@agentfleet/protocol/inference';

/**
 * Measures of one source: uses of names, arity and keywords that are not there; places that do not parse; cyclomatic complexity of the
 * whole file; findings of a linter.
 */
export const measures = ['apiMismatch', 'brokenNodes', 'complexityDelta', 'lintDelta'] as const;

/**
 * Features from the text of changed sources. The first two are known before anything runs; a model reads the others
 * beside the measurements of a run.
 */
export type SourceFeatures = Pick<Features, (typeof measures)[number]>;

/** One source; null: unknown. */
export type Surface = Readonly<Record<keyof SourceFeatures, number | null>>;

export const each = (of: (name: keyof Surface) => number | null): Surface =>
  Object.fromEntries(measures.map((name) => [name, of(name)])) as Surface;

/** For a file that is no program. */
export const plain = each(() => 0);

export const unreported = each(() => null);
