import type { RedactionKind } from '../keeper/index.ts';

/** A secret in a text: what is taken out, from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly kind: RedactionKind;
}

/** In order and without overlaps; of two that overlap the first stays and grows. */
export function merged(spans: readonly Span[]): readonly Span[] {
  const result: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1);
    if (last === undefined || span.start >= last.end) result.push(span);
    else if (span.end > last.end) result[result.length - 1] = { ...last, end: span.end };
  }
  return result;
}
