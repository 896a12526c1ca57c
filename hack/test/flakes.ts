import { readFile } from 'node:fs/promises';

/** More tests than this that pass only at their second try fail the run: then it is not chance any more. */
export const maxFlakes = 3;

/** Names of the tests of one stage that failed and then passed, as {@link FlakeReporter} and `goTest.ts` leave them. */
export async function readFlakes(path: string): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8').catch(() => '[]');
  return JSON.parse(text) as readonly string[];
}

/** What the end of a run says about tests that needed a second try, and whether they fail it. */
export function judgeFlakes(flakes: readonly string[]): { readonly lines: readonly string[]; readonly tooMany: boolean } {
  const tooMany = flakes.length > maxFlakes;
  const lines = flakes.map((name) => `FLAKY, passed at the second try: ${name}`);
  return {
    lines: tooMany ? [...lines, `${flakes.length} flaky tests are more than the ${maxFlakes} that a run may have`] : lines,
    tooMany,
  };
}
