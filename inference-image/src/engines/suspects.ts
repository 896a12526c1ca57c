import type { GenerateRequest } from '@agentfleet/protocol/inference';

/** A line that may be wrong: its file by index, its number from 1. */
export interface Suspect {
  readonly file: number;
  readonly line: number;
}

/**
 * Lines with text, the most suspicious first: by Ochiai's coefficient of the spectrum, and where nothing was counted by
 * their order. Equal ones keep the order of files and lines.
 */
export function suspects({ files, localisation }: Pick<GenerateRequest, 'files' | 'localisation'>, limit: number): readonly Suspect[] {
  const { spectrum } = localisation;
  const scores = new Map<string, number>();
  for (const { path, line, passed, failed } of spectrum.lines) {
    if (failed > 0) scores.set(`${path}:${line}`, failed / Math.sqrt(spectrum.failed * (failed + passed)));
  }
  const all = files.flatMap(({ path, content }, file) =>
    content.split('\n').flatMap((text, at) => {
      const score = scores.get(`${path}:${at + 1}`) ?? 0;
      return text.trim() === '' || (scores.size > 0 && score === 0) ? [] : [{ file, line: at + 1, score }];
    }),
  );
  return all.sort((a, b) => b.score - a.score || a.file - b.file || a.line - b.line).slice(0, limit);
}
