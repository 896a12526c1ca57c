/** Acts that are measured and calibrated on: all of the pack, one filling of each template. */
export function onePerProblem<T extends { readonly act: { readonly problem: string } }>(all: readonly T[]): readonly T[] {
  const seen = new Set<string>();
  return all.filter(({ act: { problem } }) => !seen.has(problem) && seen.add(problem));
}
