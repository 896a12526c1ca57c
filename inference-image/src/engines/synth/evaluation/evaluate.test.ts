import { describe, expect, it } from 'vitest';
import { Grammars, installedGrammars, SynthEngine } from '../index.ts';
import { javascriptCorpus } from '../javascript/evaluation/corpus.ts';
import { pythonCorpus } from '../python/evaluation/corpus.ts';
import { evaluate } from './evaluate.ts';

describe('repair of the dev half', () => {
  it.each([pythonCorpus, javascriptCorpus])(
    'of $language finds at least 70 % among the first 100 candidates',
    { timeout: 240_000 },
    async (corpus) => {
      const engine = new SynthEngine({ grammars: await Grammars.open(installedGrammars()), modelDigest: '', now: () => 0 });
      const cases = await corpus.cases('dev');
      const results = [];
      for (const subject of cases) results.push(await evaluate(subject, { engine, corpus, tries: 100, baseline: false, now: () => 0 }));
      await engine.close();
      const solved = results.filter((result) => result.rank !== null);
      expect(solved.length / cases.length).toBeGreaterThanOrEqual(0.7);
    },
  );
});
